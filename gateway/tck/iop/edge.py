"""The kit as a node, and as a control client, of the edge that is examined."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import attrs

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.iop.talk import (
    TERMINAL,
    MessagePeer,
    expect_code,
    now,
    options,
)
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.seen import Show
from fleetgate.protocols.explaining import Whence
from fleetgate.protocols.iop import ADAPTER, codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import STATUS
from fleetgate.transports.api import Options

CALLED: Final = ("grpc:", "grpcs:", "memory:")
"""Carriages that have calls."""

Answer = TypeVar("Answer")


def _given(default: Any, words: str) -> Any:
    return attrs.field(default=default, metadata={"words": words})


@attrs.frozen(slots=True)
class EdgeGiven:
    """What the kit must know of an edge."""

    token: str = _given("tck", "the token of a node; no other node may use it meanwhile")
    control_token: str = _given("", "the token of a control client; none: that of the node")
    adapter: str = _given("cli", "an adapter that the node is given")


def carried(given: EdgeGiven) -> Options:
    """How links are carried."""
    return options()


class Node(MessagePeer):
    """A node's end of a link."""

    id = ""

    def encode(self, message: Any) -> bytes:
        return codec.encode_node(message)

    def decode(self, frame: bytes) -> w.EdgePayload:
        return codec.decode_edge(frame)

    async def register(self, token: str) -> w.RegisterResponse:
        """Register, which must succeed."""
        await self.say(w.RegisterRequest(token))
        response = await self.hear_a(w.RegisterResponse)
        if not response.accepted:
            raise Unmet("registered with accepted true", f"this came: {self.last[:300]}")
        self.id = response.node_id
        return response

    async def expect_error(self, code: str, within: float | None = None) -> None:
        """The edge must report this error, and end the link as it has it."""
        expect_code(await self.hear_a(w.Error, within), code)
        self.expect_ended(await self.over(), code)

    async def asked(self, run: str) -> w.RunRequest:
        """The request of this run."""
        return await self.until(w.RunRequest, lambda it: it.run_id.endswith(run))

    async def tell(self, request: w.RunRequest, type: str, **members: Any) -> None:
        """Send an event of a run."""
        made: dict[str, Any] = {"timestamp": now(), **members}
        await self.say(w.RunEvent(request.run_id, type, **made))


class Call(MessagePeer):
    """A control client's end of a call."""

    answers: type[Any] = w.RunEvent

    def encode(self, message: Any) -> bytes:
        return codec.encode(message)

    def decode(self, frame: bytes) -> Any:
        return codec.decode(self.answers, frame)

    async def answer(self, kind: type[Answer]) -> Answer:
        """The one answer, after which the call ends well."""
        answer = await self.hear(kind.__name__)
        await self.done()
        if not isinstance(answer, kind):
            raise Unmet(kind.__name__, f"this came: {self.last[:300]}")
        return answer

    async def events(self) -> list[w.RunEvent]:
        """What comes up to the end of the call, which must be well."""
        heard: list[w.RunEvent] = []
        while isinstance(came := await self.next(), bytes):
            heard.append(self._read(came, "a run's event"))
        if came is None:
            raise Unmet("the end of the call", "nothing came")
        self._expect_ok(came)
        return heard

    async def done(self) -> None:
        """The call must end well, and nothing more come."""
        came = await self.next()
        if isinstance(came, bytes):
            raise Unmet("the end of the call", f"this came: {self.last[:300]}")
        if came is None:
            raise Unmet("the end of the call", "nothing came")
        self._expect_ok(came)

    def _expect_ok(self, end: Any) -> None:
        if end.status not in (None, 0) or (end.status is None and end.code != 1000):
            raise Unmet("the status OK", end.text)

    async def refused(self, code: str, within: float | None = None) -> None:
        """The call must end with the status of this code, and `code: sentence` as its message."""
        came = await self.next(within)
        if isinstance(came, bytes) or came is None:
            said = "nothing came" if came is None else f"this came: {self.last[:300]}"
            raise Unmet(f"the status of {code}", said)
        if came.status is not None and came.status != STATUS[code]:
            raise Unmet(f"the status {STATUS[code]} of gRPC, for {code}", came.text)
        if f": {code}: " not in came.text:
            raise Unmet(f'a message "{code}: …"', came.text)


_ANSWERS: Final[dict[str, type[Any]]] = {
    "Run": w.RunEvent,
    "Attach": w.RunEvent,
    "Cancel": w.CancelResponse,
    "Command": w.NodeCommandResponse,
    "WatchNodes": w.EdgeNodeEvent,
}


class EdgeAttempt(Attempt):
    """A requirement of an edge, being tried."""

    protocol = "iop"
    target_speaks = "controller"
    given: EdgeGiven
    _path = ""

    def shower(self) -> Show:
        """Frames by the link's path: a call's are told by its method."""
        if not self._path:
            return super().shower()
        explainer, path = ADAPTER.showing.explainer(), self._path

        def show(frame: bytes, sent: bool) -> str:
            explained = explainer.explain(frame, Whence("controller" if sent else "worker", path))
            return f"{explained.name} {explained.body}" if explained.readable else frame.hex(" ")

        return show

    async def dial(self) -> Node:
        """A new link, on which nothing was said."""
        self._path = ""
        return await self.peer(Node)

    async def node(self) -> Node:
        """A node that is registered, with whatever it is sent behind it."""
        node = await self.dial()
        await node.register(self.given.token)
        await node.rest()
        return node

    async def call(self, method: str, message: w.ControlMessage) -> Call:
        """A call of EdgeControl.

        Raises: `Skipped` where the carriage has none.
        """
        return await self._call(method, message, self.given.control_token or self.given.token)

    async def _call(self, method: str, message: w.ControlMessage, token: str) -> Call:
        call = await self.peer(Call, **self._changes(method, token))
        call.answers = _ANSWERS[method]
        await call.say(message)
        return call

    def _changes(self, method: str, token: str) -> dict[str, Any]:
        if not self.target.address.startswith(CALLED):
            raise Skipped("EdgeControl is gRPC only")
        self._path = f"{w.CONTROL}{method}"
        made = options(self._path, token)
        return {"grpc": made.grpc, "headers": made.headers, "path": made.path}

    async def barred(self, method: str, message: w.ControlMessage, token: str) -> None:
        """A call with this token must be refused, before it has sent anything or behind that."""
        try:
            call = await self._call(method, message, token)
        except Unmet as unmet:
            if ": unauthenticated: " not in str(unmet):
                raise
        else:
            await call.refused("unauthenticated")

    def request(self, node: Node, **members: Any) -> w.RunRequest:
        """A run for this node."""
        right = w.RunRequest(
            self.name(),
            self.given.adapter,
            input={"prompt": "hi"},
            metadata={"gateway.node": node.id},
        )
        return attrs.evolve(right, **members)

    async def running(self, **members: Any) -> tuple[Node, w.RunRequest, w.RunRequest, Call]:
        """A run whose start was told: the node, what was asked of the edge and of the node, and
        the call that watches."""
        node = await self.node()
        asked = self.request(node, **members)
        call = await self.call("Run", asked)
        given = await node.asked(asked.run_id)
        await node.tell(given, "start")
        event = await call.hear("start")
        if event.type != "start":
            raise Unmet("a start first", f"this came: {call.last[:300]}")
        return node, asked, given, call

    async def finish(self, node: Node, given: w.RunRequest, call: Call) -> list[w.RunEvent]:
        """End a run; what is heard of that."""
        await node.tell(given, "complete", message="done")
        events = await call.events()
        if not events or events[-1].type not in TERMINAL:
            raise Unmet("the end of the run as the last event", f"this came: {call.last[:300]}")
        return events
