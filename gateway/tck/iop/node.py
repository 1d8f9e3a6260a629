"""The kit as an edge of the node that is examined."""

from __future__ import annotations

from typing import Any, Final

import attrs

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.iop.talk import (
    TERMINAL,
    MessagePeer,
    expect_code,
    options,
)
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import STATUS
from fleetgate.transports.api import Options

NODE: Final = "node-tck"
ALIAS: Final = "tck"
"""Who the node is told that it is."""

CONFIG: Final = w.NodeConfigPayload()


def _given(default: Any, words: str) -> Any:
    return attrs.field(default=default, metadata={"words": words})


@attrs.frozen(slots=True)
class NodeGiven:
    """What the kit must know of a node."""

    token: str = _given("", "the token that it shows; none: that is not looked at")
    adapter: str = _given("cli", "an adapter that it has")
    run_target: str = _given("", "the target of its runs: a profile, a model")
    prompt: str = _given("tck-echo", "a prompt whose run ends well, with some text")
    hold_prompt: str = _given("tck-hold", "a prompt whose run says something, and goes on")


def carried(given: NodeGiven) -> Options:
    """How links are carried."""
    return options()


class Edge(MessagePeer):
    """An edge's end of a link."""

    def encode(self, message: Any) -> bytes:
        return codec.encode_edge(message)

    def decode(self, frame: bytes) -> w.NodePayload:
        return codec.decode_node(frame)

    async def registration(self) -> w.RegisterRequest:
        """The first message, which must be register."""
        message = await self.hear("register")
        if not isinstance(message, w.RegisterRequest):
            raise Unmet("register as the first message", f"this came: {self.last[:300]}")
        return message

    async def accept(self, config: w.NodeConfigPayload | None = CONFIG) -> None:
        """Take the registration."""
        await self.registration()
        await self.say(w.RegisterResponse(True, NODE, ALIAS, config=config))

    async def refusal(self, code: str, about: str) -> None:
        """The node must report an error about a run, and go on."""
        error = await self.until(w.Error, lambda _: True)
        expect_code(error, code, about)

    async def event(self, run: str) -> w.RunEvent:
        """The next event of a run."""
        return await self.until(w.RunEvent, lambda event: event.run_id == run)

    async def events(self, run: str) -> list[w.RunEvent]:
        """The events of a run, up to its last."""
        heard: list[w.RunEvent] = []
        while not heard or heard[-1].type not in TERMINAL:
            heard.append(await self.event(run))
        return heard

    async def refused_run(self, run: str, code: str) -> None:
        """The node must refuse a run by one error event, without a start."""
        event = await self.event(run)
        if event.type != "error" or not event.error.startswith(f"{code}: "):
            raise Unmet(f'an error event "{code}: …", and no start', f"{self.last[:300]} came")

    async def leave(self, code: str = "unavailable") -> None:
        """End the link with an error's status, or its close code."""
        await self.close(STATUS[code] if self.link.speaks_status else 1008)


class NodeAttempt(Attempt):
    """A requirement of a node, being tried."""

    protocol = "iop"
    target_speaks = "worker"
    given: NodeGiven

    async def arrive(self) -> Edge:
        """A node that has dialled."""
        return await self.peer(Edge)

    async def registered(self, config: w.NodeConfigPayload | None = CONFIG) -> Edge:
        """A node that is registered."""
        edge = await self.arrive()
        await edge.accept(config)
        return edge

    def request(self, prompt: str | None = None, **members: Any) -> w.RunRequest:
        """A run."""
        given = self.given
        input = {"prompt": given.prompt if prompt is None else prompt}
        right = w.RunRequest(self.name(), given.adapter, given.run_target, input=input)
        return attrs.evolve(right, **members)

    async def run(self, edge: Edge, prompt: str | None = None, **members: Any) -> w.RunRequest:
        """Ask for a run."""
        request = self.request(prompt, **members)
        await edge.say(request)
        return request

    async def holding(self, edge: Edge, **members: Any) -> w.RunRequest:
        """A run that goes on, and has said something.

        Raises: `Skipped` where it ends by itself.
        """
        request = await self.run(edge, self.given.hold_prompt, **members)
        heard = await edge.until(
            w.RunEvent, lambda it: it.run_id == request.run_id and it.type != "start"
        )
        if heard.type in TERMINAL:
            raise Skipped(f"{self.given.hold_prompt!r} ended by itself: give --hold-prompt")
        return request

    async def cancel(self, edge: Edge, request: w.RunRequest) -> None:
        """Have a run ended."""
        await edge.say(w.CancelRequest(request.run_id))
        await edge.events(request.run_id)
