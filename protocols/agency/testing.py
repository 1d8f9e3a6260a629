"""What tests of this protocol, here and elsewhere, begin with: requests, playbooks that have
said hello, and valid frames for each side."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import attrs

from fleetgate.core.answers import Admission, Held
from fleetgate.core.commands import Origin
from fleetgate.core.ids import Epoch, RunId
from fleetgate.core.run import Run
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.codec import decode_client, decode_server
from fleetgate.protocols.agency.encode import encode_client, encode_server
from fleetgate.protocols.agency.northbound import AgencyNorthbound
from fleetgate.protocols.agency.settings import (
    AgencyNorthboundSettings,
    AgencySouthboundSettings,
)
from fleetgate.protocols.agency.southbound import AgencySouthbound
from fleetgate.protocols.agency.state import capabilities
from fleetgate.protocols.agency.translate import to_spec, to_worker
from fleetgate.protocols.api import AnnounceWorker, Opening, Wake
from fleetgate.protocols.testing import SECOND, Playbook, Sent

REQUEST: Final = wire.RunRequest("claude", "", "p", "plan", False, False, ("/w",))
"""REQ of the conformance cases."""


def make_run(native: str = "run-1", link: str = "gui", **members: Any) -> Run:
    """A run that `link` has asked for by `REQUEST` (or `spec`)."""
    spec = members.pop("spec", to_spec(REQUEST))
    created = members.pop("created", 1)
    return Run(RunId(f"{link}/{native}"), spec, Origin(link, native), created, **members)


def say(id: int, message: wire.ClientMessage) -> wire.ClientFrame:
    """A client's request."""
    return wire.ClientFrame(id, message)


def hello(minor: int = 3, major: int = 0, id: int = 1) -> wire.ClientFrame:
    """A client's hello."""
    return say(id, wire.Hello("t", wire.ProtocolVersion(major, minor)))


def welcome(minor: int = 3, id: int = 1) -> wire.Response:
    """A daemon's answer to hello."""
    version = wire.ProtocolVersion(0, minor)
    return wire.Response(id, wire.HelloAnswer("agency-proxy", version, capabilities(minor)))


def yes(id: int) -> wire.Response:
    """Accepted."""
    return wire.Response(id, wire.Accepted())


def no(id: int, code: wire.ErrorCode, text: str) -> wire.Response:
    """An error."""
    return wire.Response(id, wire.Error(code, text))


def play_daemon(**settings: Any) -> Playbook:
    """A playbook with the daemon's side of a connection: it receives what clients say."""
    connection = AgencyNorthbound(AgencyNorthboundSettings(**settings))
    return Playbook(connection, decode=decode_server, encode=encode_client)


@contextmanager
def agree(play: Playbook, minor: int = 3) -> Generator[Playbook]:
    """Open a daemon's connection named `gui`, and have hello said and answered."""
    with play:
        play.opened(Opening(link="gui")).take()
        play.receive(hello(minor)).expect(Sent(welcome(minor)))
        yield play


def play_client(**settings: Any) -> Playbook:
    """A playbook with the client's side of a connection: it receives what daemons say."""
    connection = AgencySouthbound(AgencySouthboundSettings(**settings))
    return Playbook(connection, decode=lambda frame: decode_client(frame, 4), encode=encode_server)


@contextmanager
def admit(
    play: Playbook, *held: Held, runs: tuple[wire.RunSnapshot, ...] = (), minor: int = 3
) -> Generator[Playbook]:
    """Open a client's connection named `pool`, up to its admission with `held`; the daemon
    lists `runs`. The steps that answer the admission are left to expect."""
    with play:
        _admitted(play, held, runs, minor)
        yield play


def _admitted(
    play: Playbook, held: tuple[Held, ...], runs: tuple[wire.RunSnapshot, ...], minor: int
) -> None:
    play.opened(Opening(link="pool")).expect(
        Sent(say(1, wire.Hello("fleetgate", wire.ProtocolVersion(0, 3)))),
        Wake(play.now + 10 * SECOND),
    )
    play.receive(welcome(minor)).expect(Sent(say(2, wire.ListRuns())))
    said = welcome(minor).response
    assert isinstance(said, wire.HelloAnswer)
    play.receive(wire.Response(2, wire.Runs(runs))).expect(AnnounceWorker(to_worker("pool", said)))
    play.reply(None, Admission(Epoch(1), held))


MESSAGES: Final[tuple[wire.ClientMessage, ...]] = (
    wire.Hello("t", wire.ProtocolVersion(0, 3)),
    wire.ListRuns(),
    wire.ProbeProviders(),
    wire.ReadAccountUsage(),
    wire.StartRun("run-1", attrs.evolve(REQUEST, metadata={"a": [1, None]}), "k"),
    wire.AttachRun("run-1", 0),
    wire.InjectMessage("run-1", "also this", "k"),
    wire.DecideApproval("run-1", "ap-1", wire.ApprovalDecision.DENY, "k"),
    wire.AckEvents("run-1", wire.MAX_SEQUENCE),
    wire.CancelRun("run-1", "k"),
    wire.DetachRun("run-1"),
    wire.ShutdownIfIdle(),
    wire.Shutdown(wire.ShutdownMode.DRAIN),
)
"""One of each request of 0.3, in an order that makes sense."""

CLIENT_FRAMES: Final = tuple(encode_client(say(id, each)) for id, each in enumerate(MESSAGES, 1))
"""The same as frames."""

_SNAPSHOT: Final = wire.RunSnapshot("run-1", wire.RunState.RUNNING, "claude", "", 3, 1, ("/w",))

EVENTS: Final[tuple[w.RunEvent, ...]] = (
    w.SessionOpened("s-1", "m"),
    w.SessionOpened("s-1"),
    w.StateChanged(wire.RunState.WAITING_APPROVAL),
    w.Reasoning("r"),
    w.Text("t"),
    w.MessageBoundary(),
    w.ToolCall("Bash", {"command": "ls"}, id="t1"),
    w.ToolCall("Bash", None),
    w.ToolResult(""),
    w.ToolResult("x", id="t1", ok=True),
    w.ApprovalRequested("ap-1", "Bash", {"command": "touch x"}),
    w.Usage({"input_tokens": 1}),
    w.RateLimit(None),
    w.Compaction("started"),
    w.Commands({"all": [], "skills": []}),
    w.ErrorEvent("e"),
    w.Finished({"a": 2, "z": 1}),
    w.Failed("the run was canceled"),
)
"""One of each event at least, as section 3.3 shows them."""

_ANSWERS: Final[tuple[w.ServerFrame, ...]] = (
    welcome(),
    wire.Response(2, wire.Runs((_SNAPSHOT,))),
    wire.Response(3, wire.RunAnswer(_SNAPSHOT)),
    wire.Response(4, wire.Providers((wire.ProviderStatus("claude", True, False, "", "", ""),))),
    wire.Response(5, wire.AccountUsage((wire.ProviderAccountUsage("codex", True, {"a": 1}),))),
    wire.Response(6, wire.SessionInterrupted(True)),
    yes(7),
    no(8, wire.ErrorCode.INTERNAL, "m"),
)

SERVER_FRAMES: Final = (
    *map(encode_server, _ANSWERS),
    *(encode_server(w.EventFrame("run-1", at, event)) for at, event in enumerate(EVENTS, 1)),
)
"""One of each answer and event."""
