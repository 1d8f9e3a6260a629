"""The words in which requirements of this protocol are written: JSON as it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeGuard

from fleetgate.gateway.tck.peer import End, Peer, Skipped, Unmet
from fleetgate.gateway.tck.seen import shown
from fleetgate.transports.api import Options

SUBPROTOCOL: Final = "kodelet.runner.v1.jsonrpc"
PATH: Final = "/api/runner/v1/connect"

LIMIT: Final = 4_194_304
"""Bytes of a message, both ways."""

TOO_LARGE: Final = 1009

NOBODYS: Final = "tck.nothing"
"""A method that nobody has."""

INVALID_REQUEST: Final = -32600
NO_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
UNAVAILABLE: Final = -32000
CONFLICT: Final = -32001
STALE: Final = -32002
BUSY: Final = -32003

Object = Mapping[str, Any]

ABSENT: Final = object()
"""No params at all, which is not null."""


def options(token: str) -> Options:
    """How links are carried: one object a text message."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return Options(
        limit=LIMIT + 64,  # so that what is too large can be said
        binary=False,
        any_text=True,
        path=PATH,
        subprotocols=(SUBPROTOCOL,),
        headers=headers,
        ping_every=30.0,
    )


def dumped(value: object) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(frame: bytes) -> Any:
    """The object in a message."""
    try:
        value: Any = json.loads(frame)
    except ValueError:
        raise Unmet("JSON", f"this came: {shown(frame)}") from None
    if not is_object(value) or value.get("jsonrpc") != "2.0":
        raise Unmet('an object with jsonrpc "2.0"', f"this came: {shown(frame)}")
    return value


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def is_answer(message: Object) -> bool:
    """Whether it is a response."""
    return "method" not in message


class RpcPeer(Peer):
    """A link that carries JSON-RPC. What comes while something else is waited for is kept."""

    prefix = "tck"
    _number_of_calls = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: list[Any] = []
        """Requests and notifications that came meanwhile, oldest first."""
        self._answers: list[tuple[Any, str]] = []

    async def say(self, *messages: str | Object) -> None:
        """Send messages in one write; text goes out as it stands."""
        texts = (each if isinstance(each, str) else dumped(each) for each in messages)
        await self.send(*(text.encode() for text in texts))

    async def ask(self, method: str, params: object = ABSENT, id: str = "") -> str:
        """Send a request; its id."""
        if not id:
            self._number_of_calls += 1
            id = f"{self.prefix}:{self._number_of_calls}"
        await self.say(self._made(id, method, params))
        return id

    async def tell(self, method: str, params: object = ABSENT) -> None:
        """Send a notification."""
        await self.say(self._made(None, method, params))

    async def yes(self, request: Object, result: object = None) -> None:
        """Answer a request."""
        await self.say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def no(self, request: Object, code: int, message: str, reason: str = "") -> None:
        """Answer a request with an error."""
        error: dict[str, object] = {"code": code, "message": message}
        if reason:
            error["data"] = {"reason": reason}
        await self.say({"jsonrpc": "2.0", "id": request["id"], "error": error})

    async def show_life(self) -> None:
        """Say something that is right at any time."""
        await self.ask(NOBODYS, {})

    def _made(self, id: str | None, method: str, params: object) -> Object:
        made: dict[str, object] = {"jsonrpc": "2.0"}
        if id is not None:
            made["id"] = id
        made["method"] = method
        if params is not ABSENT:
            made["params"] = params
        return made

    # --- what comes

    async def _take(self, expected: str) -> None:
        """Keep the next message."""
        frame = await self.receive(expected)
        self._keep(frame)

    def _keep(self, frame: bytes) -> None:
        message = read(frame)
        if is_answer(message):
            self._answers.append((message, frame.decode()))
        else:
            self.kept.append(message)

    async def answer_text(self, id: str, expected: str) -> tuple[Any, str]:
        """The answer to a request, and as it stands on the wire."""
        while True:
            for at, (message, _) in enumerate(self._answers):
                if message.get("id") == id:
                    return self._answers.pop(at)
            await self._take(f"{expected}, for id {id!r}")

    async def answer(self, id: str, expected: str = "an answer") -> Any:
        """The answer to a request."""
        return (await self.answer_text(id, expected))[0]

    async def result(self, id: str, what: str) -> Any:
        """The result of a request, which must not be refused."""
        answer = await self.answer(id, f"the result of {what}")
        if "result" not in answer or answer.get("error") is not None:
            raise Unmet(f"a result of {what}", f"this came: {dumped(answer)[:300]}")
        return answer["result"]

    async def refused(self, id: str, code: int, what: str, *, reason: str | None = None) -> Any:
        """The error of a request, which must have this code, and this reason in its data; without
        one, whatever data it likes."""
        answer = await self.answer(id, f"the error {code} for {what}")
        error = answer.get("error")
        if not is_object(error) or "result" in answer:
            raise Unmet(f"the error {code} for {what}", f"this came: {dumped(answer)[:300]}")
        if error.get("code") != code:
            raise Unmet(f"the code {code} for {what}", f"this came: {dumped(error)[:300]}")
        if not isinstance(error.get("message"), str):
            raise Unmet("a message in the error", f"this came: {dumped(error)[:300]}")
        if reason is not None:
            expect_reason(error, reason, what)
        return error

    async def request(self, method: str) -> Any:
        """The next request or notification of this method."""
        while True:
            for at, message in enumerate(self.kept):
                if message["method"] == method:
                    return self.kept.pop(at)
            await self._take(f"a {method}")

    async def rest(self, within: float | None = None) -> list[Any]:
        """What was kept, and what comes until nothing has come for a while; answers stay. The
        link must."""
        quiet = self.patience.quiet if within is None else within
        while isinstance(came := await self.next(quiet), bytes):
            self._keep(came)
        if came is not None:
            raise Unmet("that the link stays", came.text)
        kept, self.kept = self.kept, []
        return kept

    async def expect_none(self, fits: Callable[[Any], bool], what: str) -> None:
        """No request or notification that fits must come for a while."""
        for message in await self.rest():
            if fits(message):
                raise Unmet(f"no {what}", f"this came: {dumped(message)[:300]}")

    async def expect_silence(self) -> None:
        """No answer must be there, or come for a while, and the link must answer afterwards."""
        self.kept += await self.rest()
        if self._answers:
            raise Unmet("no answer", f"this came: {self._answers[0][1][:300]}")
        await self.expect_alive()

    async def expect_alive(self) -> None:
        """The link must still answer."""
        id = await self.ask(NOBODYS, {})
        await self.refused(id, NO_METHOD, "a method that nobody has")

    async def expect_gone(self, *, bare: bool = False) -> End:
        """The target must answer nothing and end the link; `bare`: without a close frame."""
        while isinstance(came := await self.next(), bytes):
            self._keep(came)
            if self._answers:
                raise Unmet("the end of the link, unanswered", f"{self._answers[0][1][:300]} came")
        if came is None:
            raise Unmet("the end of the link", f"nothing came for {self.patience.within:g} s")
        if bare and came.code is not None:
            raise Unmet("the end of the connection without a close frame", came.text)
        return came


def expect_reason(error: Object, reason: str, what: str) -> None:
    """The data of an error must have this reason; with an empty one there must be no data."""
    data = error.get("data")
    came = data.get("reason") if is_object(data) else None
    if came != reason if reason else data is not None:
        wanted = f"the reason {reason} in the data of the error" if reason else "no data"
        raise Unmet(f"{wanted} for {what}", f"this came: {dumped(error)[:300]}")


def expect_object(value: object, what: str, **kinds: type[Any]) -> Any:
    """It must be an object with members of these kinds."""
    if not is_object(value):
        raise Unmet(f"{what}, an object", f"this came: {dumped(value)[:300]}")
    for name, kind in kinds.items():
        member = value.get(name)
        if not isinstance(member, kind) or (kind is int and isinstance(member, bool)):
            wanted = f"{name} in {what}, of the kind {_KINDS[kind]}"
            raise Unmet(wanted, f"it is {dumped(member)[:200]}")
    return value


_KINDS: Final[Mapping[type[Any], str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    dict: "object",
    list: "array",
}


def expect_equal(value: object, wanted: object, what: str) -> None:
    """It must be this."""
    if value != wanted or type(value) is not type(wanted):
        raise Unmet(f"{what} {dumped(wanted)[:200]}", f"it is {dumped(value)[:200]}")


def given_text(value: str, option: str, need: str) -> str:
    """What the kit was told of the target. Raises: `Skipped` where it was told nothing."""
    if not value:
        raise Skipped(f"it needs {need}: give --{option}")
    return value
