"""The words in which requirements of this protocol are written: messages, and ends of links."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from fleetgate.gateway.tck.peer import End, Peer, Unmet
from fleetgate.protocols.api import RemoteProtocolError
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import STATUS
from fleetgate.protocols.iop.settings import CALLS
from fleetgate.transports.api import GrpcMethod, GrpcOptions, Options

LIMIT: Final = w.MAX_MESSAGE

HEARTBEAT_AFTER: Final = 15.0
DEAD_AFTER: Final = 45.0
"""Seconds: of the page, and what a target has unless it is configured."""

DAY: Final = 86_400 * 10**9

GARBAGE: Final = b"\xff\xff\xff"
"""No protobuf."""

CLOSES: Final[Mapping[str, int]] = {"replaced": 4002, "unavailable": 1001}
"""The close codes of WebSocket; for any other refusal 1008."""
REFUSED: Final = 1008
NORMAL: Final = 1000
IN_ORDER: Final = 1001
"""A link that was closed with either has been closed in order, and does not say with which."""

TERMINAL: Final = frozenset({"complete", "error", "cancelled"})

Message = TypeVar("Message")


def options(path: str = w.CONNECT, token: str = "") -> Options:
    """How links are carried: over gRPC a message of a call, else behind a varint, or in a binary
    message."""
    calls = {
        name: GrpcMethod(call.client_streams, call.server_streams) for name, call in CALLS.items()
    }
    control = path != w.CONNECT
    return Options(
        framing="varint",
        limit=LIMIT + 64,  # so that what is too large can be said
        path=path if control else "/iop",
        headers={"authorization": f"Bearer {token}"} if token else {},
        ping_every=20.0,
        grpc=GrpcOptions(calls={**calls, w.CONNECT: GrpcMethod()}, dial=path),
    )


def now() -> int:
    """Unix nanoseconds."""
    return time.time_ns()


class MessagePeer(Peer):
    """A link, or a call, that carries messages."""

    def encode(self, message: Any) -> bytes:
        """A frame of ours."""
        raise NotImplementedError

    def decode(self, frame: bytes) -> Any:
        """What a frame of the target holds. Raises: `RemoteProtocolError`."""
        raise NotImplementedError

    async def say(self, *messages: Any) -> None:
        """Send messages in one go."""
        await self.send(*map(self.encode, messages))

    async def hear(self, expected: str, within: float | None = None) -> Any:
        """The next message."""
        came = await self.next(within)
        if isinstance(came, bytes):
            return self._read(came, expected)
        seconds = self.patience.within if within is None else within
        raise Unmet(expected, f"nothing came for {seconds:g} s" if came is None else came.text)

    def _read(self, frame: bytes, expected: str) -> Any:
        try:
            return self.decode(frame)
        except RemoteProtocolError as error:
            raise Unmet(expected, str(error)) from None

    async def hear_a(self, kind: type[Message], within: float | None = None) -> Message:
        """The next message, of this kind; heartbeats and news of nodes may come before it."""
        while True:
            message = await self.hear(kind.__name__, within)
            if isinstance(message, kind):
                return message
            if not isinstance(message, w.Heartbeat | w.EdgeNodeEvent):
                raise Unmet(kind.__name__, f"this came: {self.last[:300]}")

    async def until(self, kind: type[Message], fits: Callable[[Message], bool]) -> Message:
        """The first message of this kind that fits; any may come before it."""
        for _ in range(10_000):
            message = await self.hear(kind.__name__)
            if isinstance(message, kind) and fits(message):
                return message
        raise Unmet(kind.__name__, "10000 others came")

    async def rest(self) -> list[Any]:
        """What comes until nothing has come for a while; the link must stay."""
        heard: list[Any] = []
        while isinstance(came := await self.next(self.patience.quiet), bytes):
            heard.append(self._read(came, "a message"))
        if came is not None:
            raise Unmet("that the link stays", came.text)
        return heard

    async def expect_none(self, kind: type[Any]) -> None:
        """No message of this kind must come for a while; the link must stay."""
        for message in await self.rest():
            if isinstance(message, kind):
                raise Unmet(f"no {kind.__name__}", f"this came: {message!r:.300}")

    async def over(self, within: float | None = None) -> End:
        """The end of the link; messages may come before it."""
        while isinstance(came := await self.next(within), bytes):
            self._read(came, "a message, or the end")
        if came is None:
            seconds = self.patience.within if within is None else within
            raise Unmet("the end of the link", f"nothing came for {seconds:g} s")
        return came

    def expect_ended(self, end: End, code: str) -> None:
        """The link must have ended as this error has it, in the way of its carriage."""
        if end.status is not None and end.status != STATUS[code]:
            raise Unmet(f"the status {STATUS[code]} of gRPC, for {code}", end.text)
        if end.code is not None and end.status is None:
            wanted = CLOSES.get(code, REFUSED)
            came = IN_ORDER if end.code == NORMAL and wanted == IN_ORDER else end.code
            if came != wanted and self.link.opening.path:  # streams have no codes
                raise Unmet(f"the close code {wanted}, for {code}", end.text)


def expect_code(error: w.Error, code: str, about: str = "") -> None:
    """It must be for this reason, and about this run."""
    if error.code != code:
        raise Unmet(f"the code {code}", f"it is {error.code}: {error.message[:200]!r}")
    if about and not error.message.startswith(f"{about}: "):
        raise Unmet(f"a message that begins with {about}: ", f"it is {error.message[:200]!r}")


def expect_equal(value: object, wanted: object, what: str) -> None:
    """It must be this."""
    if value != wanted:
        raise Unmet(f"{what} {wanted!r:.200}", f"it is {value!r:.200}")
