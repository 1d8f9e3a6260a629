"""The kit as a server of the host daemon (the protocol's client) that is examined."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import attrs

from fleetgate.gateway.tck.attempt import Attempt
from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.rvbox.talk import (
    TERMINAL,
    V1,
    EnvelopePeer,
    digest,
    new_uuid,
    options,
)
from fleetgate.protocols.rvbox import wire as w
from fleetgate.transports.api import Options

Lifecycle: Final = w.CommandLifecycle

MOST: Final = 1000
"""Commands with which a host is filled: a larger one is not."""


def _given(default: Any, words: str) -> Any:
    return attrs.field(default=default, metadata={"words": words})


@attrs.frozen(slots=True)
class HostGiven:
    """What the kit must know of a host: lines for its default shell."""

    line: str = _given("echo tck-out", "writes something and ends with 0")
    hold_line: str = _given("echo on; sleep 600 # tck-hold", "writes something and goes on")
    listen_line: str = _given("read a; echo got; sleep 600 # tck-listen", "reads a line, goes on")


def carried(given: HostGiven) -> Options:
    """How links are carried."""
    return options("")


_generations: Final = count(int(time.time()))
"""Each welcome has a higher one than any before, of earlier kits too."""


class Server(EnvelopePeer):
    """A server's end of a link."""

    async def hello(self) -> w.ClientHello:
        """Take hello."""
        return await self.hear_a(w.ClientHello)

    async def welcome(self) -> w.ClientHello:
        """Take hello, and open a session."""
        hello = await self.hello()
        self.generation = next(_generations)
        self.session = f"tck-{self.generation}"
        await self.say(w.ServerWelcome(V1, time.time_ns()))
        return hello

    async def snapshot(
        self, targets: Sequence[w.ReconcileTarget] = ()
    ) -> dict[str, w.ReconcileCommandState]:
        """Ask what it retains; by uuid."""
        await self.say(w.ReconcileRequest(tuple(targets)))
        found = await self.hear_a(w.ReconcileSnapshot)
        return {state.issue_uuid: state for state in found.retained_commands}

    async def conclude(self, terminate: Sequence[str] = (), discard: Sequence[str] = ()) -> None:
        """Say what comes of the snapshot."""
        await self.say(w.ReconcileResult(tuple(terminate), tuple(discard)))

    async def reconcile(self) -> None:
        """Have it forget whatever it retains."""
        there = await self.snapshot()
        await self.conclude([id for id, state in there.items() if not state.tombstoned])
        await self.settle()

    async def dispatch(self, **members: Any) -> w.CommandDispatch:
        """Send a dispatch; what it said."""
        named: dict[str, Any] = {
            "issue_uuid": new_uuid(),
            "command_revision": 1,
            "target_session_generation": self.generation,
            "issue_time": time.time_ns(),
            "immutable_request_sha256": digest(),
        }
        made = w.CommandDispatch(**{**named, **members})
        await self.say(made)
        return made

    async def answer(self, dispatch: w.CommandDispatch) -> w.CommandAccepted:
        """Its answer."""
        return await self.until(
            w.CommandAccepted, lambda came: came.issue_uuid == dispatch.issue_uuid
        )

    async def accepted(self, dispatch: w.CommandDispatch) -> None:
        """Its answer must be yes."""
        answer = await self.answer(dispatch)
        if not answer.accepted or answer.command_revision != dispatch.command_revision:
            raise Unmet(f"accepted, in revision {dispatch.command_revision}", self.last[:300])

    async def event(self, dispatch: w.CommandDispatch) -> w.CommandEvent:
        """The next event of a command."""
        return await self.until(w.CommandEvent, lambda came: came.issue_uuid == dispatch.issue_uuid)

    async def events(self, dispatch: w.CommandDispatch, first: int = 1) -> list[w.CommandEvent]:
        """A command's events up to its exit; their numbers must rise by one from `first`."""
        heard: list[w.CommandEvent] = []
        while not heard or not isinstance(heard[-1].event, w.CommandExit):
            heard.append(await self.event(dispatch))
            if heard[-1].event_seq != first + len(heard) - 1:
                wanted = first + len(heard) - 1
                raise Unmet(f"event_seq {wanted}", f"it is {heard[-1].event_seq}")
        return heard

    async def ack(self, dispatch: w.CommandDispatch, through: int) -> None:
        """Acknowledge events."""
        await self.say(w.EventAck(dispatch.issue_uuid, through))


class HostAttempt(Attempt):
    """A requirement of a host, being tried."""

    protocol = "rvbox"
    target_speaks = "worker"
    given: HostGiven

    async def arrive(self) -> Server:
        """A host that has dialled."""
        return await self.peer(Server)

    async def welcomed(self) -> Server:
        """A host with a session, which is not reconciled."""
        server = await self.arrive()
        await server.welcome()
        return server

    async def opened(self) -> Server:
        """A host with an open session, which retains nothing."""
        server = await self.welcomed()
        await server.reconcile()
        return server

    async def again(self, server: Server) -> Server:
        """The link is lost, and the host has come again; its new session is not reconciled."""
        await server.close(None)
        return await self.welcomed()

    def spec(self, line: str | None = None, **members: Any) -> w.ExecutionSpec:
        """What to execute."""
        return w.ExecutionSpec(self.given.line if line is None else line, **members)

    async def done(self, server: Server) -> tuple[w.CommandDispatch, list[w.CommandEvent]]:
        """A command that has ended, and its events."""
        dispatch = await server.dispatch(spec=self.spec())
        await server.accepted(dispatch)
        return dispatch, await server.events(dispatch)

    async def buried(self, server: Server) -> w.CommandDispatch:
        """A command whose exit is acknowledged."""
        dispatch, events = await self.done(server)
        await server.ack(dispatch, len(events))
        await server.settle()
        return dispatch

    async def holding(
        self, server: Server, line: str | None = None, **spec: Any
    ) -> w.CommandDispatch:
        """A command that runs and goes on, whose first events have come.

        Raises: `Skipped` where it ends by itself.
        """
        line = self.given.hold_line if line is None else line
        dispatch = await server.dispatch(spec=self.spec(line, **spec))
        await server.accepted(dispatch)
        await server.until(w.CommandEvent, runs)
        for payload in await server.settle():
            if isinstance(payload, w.CommandEvent) and isinstance(payload.event, w.CommandExit):
                raise Skipped(f"{line!r} ended by itself: give --hold-line, --listen-line")
        return dispatch


def runs(event: w.CommandEvent) -> bool:
    """Whether it says that a command runs."""
    happened = event.event
    return isinstance(happened, w.LifecycleChanged) and happened.lifecycle == Lifecycle.RUNNING


def expect_exit(events: list[w.CommandEvent], *lifecycles: int) -> w.CommandExit:
    """The last event must be an exit in one of these states."""
    last = events[-1].event
    if not isinstance(last, w.CommandExit) or last.lifecycle not in (lifecycles or TERMINAL):
        names = ", ".join(Lifecycle(each).name for each in lifecycles) or "terminal"
        raise Unmet(f"an exit, {names}", f"{last!r:.200} came")
    return last
