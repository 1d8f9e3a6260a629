"""What a host does with commands: "Commands", and "Further rules"."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Final

from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.host import HostAttempt, Lifecycle, Server, expect_exit, runs
from fleetgate.gateway.tck.rvbox.talk import VIOLATION, digest, expect_code, new_uuid
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

TOPIC: Final = Topic("commands")

SECOND: Final = 1_000_000_000

_OPEN: Final = "a host with an open session"
_RUNS: Final = "a command that runs and goes on"
_ENDED: Final = "a command that has ended"


@TOPIC.must(
    "RVBOX-C-020",
    given=_OPEN,
    when="a command is dispatched",
    expect="CommandAccepted with its uuid and revision; then events 1, 2, 3… without a gap: "
    "QUEUED, RUNNING, output, and one CommandExit, the last",
    source="rvbox 1, Commands: answers, Events",
)
async def executed(kit: HostAttempt) -> None:
    server = await kit.opened()
    _, events = await kit.done(server)
    states = [e.event.lifecycle for e in events if isinstance(e.event, w.LifecycleChanged)]
    if [state for state, _ in groupby(states)] != [Lifecycle.QUEUED, Lifecycle.RUNNING]:
        raise Unmet("QUEUED and then RUNNING", f"{states} came")
    first = next(at for at, event in enumerate(events) if runs(event))
    for at, event in enumerate(events):
        if isinstance(event.event, w.OutputChunk) and at < first:
            raise Unmet("RUNNING before the output", "output came before it")
    exit = expect_exit(events, Lifecycle.EXITED)
    if exit.exit_code != 0:
        raise Unmet("exit_code 0", f"it is {exit.exit_code}")
    if [each for each in await server.settle() if isinstance(each, w.CommandEvent)]:
        raise Unmet("nothing behind the exit", "another event came")


@TOPIC.must(
    "RVBOX-C-021",
    given=_ENDED,
    when="its output is looked at",
    expect="chunks of at most 64 KiB, each stream's offsets without a gap",
    source="rvbox 1, Commands: output; common.proto OutputChunk",
)
async def output(kit: HostAttempt) -> None:
    _, events = await kit.done(await kit.opened())
    chunks = [event.event for event in events if isinstance(event.event, w.OutputChunk)]
    if not chunks:
        raise Unmet("output", "none came")
    at: dict[int, int] = {}
    for chunk in chunks:
        if len(chunk.data) > 1 << 16:
            raise Unmet("chunks of at most 64 KiB", f"one of {len(chunk.data)} bytes came")
        if chunk.offset != at.get(chunk.stream, 0):
            raise Unmet(f"offset {at.get(chunk.stream, 0)}", f"it is {chunk.offset}")
        at[chunk.stream] = chunk.offset + len(chunk.data)


@TOPIC.must(
    "RVBOX-C-022",
    given=_RUNS,
    when="it is dispatched again, the same uuid and digest",
    expect="accepted again, and executed once: no second RUNNING",
    source="rvbox 1, Commands: same uuid, same hash",
)
async def once(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server)
    await server.say(dispatch)
    await server.accepted(dispatch)
    if any(isinstance(each, w.CommandEvent) and runs(each) for each in await server.settle()):
        raise Unmet("that it is executed once", "RUNNING came again")


@TOPIC.must(
    "RVBOX-C-023",
    given=_RUNS,
    when="its uuid is dispatched with another digest, or in a lower revision",
    expect="rejected with CONFLICT",
    source="rvbox 1, Commands: other hash, lower revision",
)
async def conflict(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server)
    again = await server.dispatch(
        issue_uuid=dispatch.issue_uuid, spec=dispatch.spec, command_revision=2
    )
    await server.accepted(again)
    wrong: tuple[Mapping[str, Any], ...] = (
        {"immutable_request_sha256": digest("other"), "command_revision": 2},
        {"command_revision": 1},
    )
    for members in wrong:
        again = await server.dispatch(issue_uuid=dispatch.issue_uuid, spec=kit.spec(), **members)
        expect_code(await server.answer(again), Code.CONFLICT)


REJECTED: Final[Mapping[str, tuple[Code, str, str, Mapping[str, Any]]]] = {
    "RVBOX-C-024": (
        Code.STALE_SESSION,
        "a dispatch names another target_session_generation",
        "rvbox 1, Commands: target_session_generation",
        {"target_session_generation": 1},
    ),
    "RVBOX-C-025": (
        Code.INVALID_ARGUMENT,
        "a dispatch has an issue_uuid in capitals",
        "rvbox 1, Further rules, Dispatch",
        {"issue_uuid": "ABCDEF00-9D1C-4F0E-8A3B-2C5D6E7F8091"},
    ),
    "RVBOX-C-026": (
        Code.INVALID_ARGUMENT,
        "a dispatch has a digest of 31 bytes",
        "rvbox 1, Further rules, Dispatch",
        {"immutable_request_sha256": bytes(31)},
    ),
    "RVBOX-C-027": (
        Code.QUEUE_EXPIRED,
        "a dispatch's queue_expiry_time has passed",
        "rvbox 1, Commands: QUEUE_EXPIRED",
        {"queue_expiry_time": SECOND},
    ),
    "RVBOX-C-028": (
        Code.UNSUPPORTED_SHELL,
        "a dispatch asks for a shell with an unknown number",
        "rvbox 1, Further rules, Dispatch",
        {"spec": w.ExecutionSpec("true", shell=99)},
    ),
    "RVBOX-C-029": (
        Code.INVALID_ARGUMENT,
        "a dispatch has no program",
        "rvbox 1, Commands: bad spec",
        {"spec": w.ExecutionSpec()},
    ),
    "RVBOX-C-030": (
        Code.INVALID_ARGUMENT,
        "a dispatch's environment has a name with = in it",
        "rvbox 1, Further rules, Dispatch",
        {"spec": w.ExecutionSpec("true", env={"A=B": "c"})},
    ),
    "RVBOX-C-031": (
        Code.INVALID_ARGUMENT,
        "a dispatch has a timeout of 0",
        "rvbox 1, Further rules, Dispatch",
        {"spec": w.ExecutionSpec("true", timeout=0)},
    ),
}
"""Dispatches that are answered no: the code, when, the source, and what is wrong."""


def _rejecting(id: str, code: Code, when: str, source: str, members: Mapping[str, Any]) -> None:
    @TOPIC.must(
        id,
        given=_OPEN,
        when=when,
        expect=f"CommandAccepted, rejected with {code.name}, and no event",
        source=source,
    )
    async def rejected(kit: HostAttempt) -> None:
        server = await kit.opened()
        dispatch = await server.dispatch(**{"spec": kit.spec(), **members})
        answer = await server.answer(dispatch)
        expect_code(answer, code)
        if answer.accepted:
            raise Unmet("that it is not accepted", "accepted is true")
        if any(isinstance(each, w.CommandEvent) for each in await server.settle()):
            raise Unmet("no event of a command that was rejected", "one came")


for _id, _how in REJECTED.items():
    _rejecting(_id, *_how)


async def _buried(kit: HostAttempt, server: Server) -> w.CommandDispatch:
    """A command whose exit is acknowledged."""
    dispatch, events = await kit.done(server)
    await server.ack(dispatch, len(events))
    await server.settle()
    return dispatch


@TOPIC.must(
    "RVBOX-C-032",
    given="a command whose exit is acknowledged",
    when="its uuid is dispatched again, with its own digest and with another",
    expect="rejected with ALREADY_FINISHED, and with CONFLICT",
    source="rvbox 1, Commands: tombstoned; Further rules, Dispatch",
)
async def buried(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await _buried(kit, server)
    await server.say(dispatch)
    expect_code(await server.answer(dispatch), Code.ALREADY_FINISHED)
    other = await server.dispatch(
        issue_uuid=dispatch.issue_uuid,
        spec=kit.spec(),
        immutable_request_sha256=digest("other"),
    )
    expect_code(await server.answer(other), Code.CONFLICT)


@TOPIC.must(
    "RVBOX-C-033",
    given=_ENDED,
    when="an event beyond its last is acknowledged",
    expect="AgentError PROTOCOL_VIOLATION with close_session, and close 1002",
    source="rvbox 1, Commands: EventAck",
)
async def acked_beyond(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch, events = await kit.done(server)
    await server.ack(dispatch, len(events) + 1)
    await server.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-C-034",
    given=_ENDED,
    when="acknowledgements of an unknown command come, and one lower than the last",
    expect="that they are ignored",
    source="rvbox 1, Further rules, Acks and events",
)
async def acked_idly(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch, _ = await kit.done(server)
    await server.ack(dispatch, 2)
    await server.say(w.EventAck(new_uuid(), 5))
    await server.ack(dispatch, 1)
    heard = await server.settle()
    if any(isinstance(each, w.AgentError | w.CommandEvent) for each in heard):
        raise Unmet("nothing", f"{heard[0]!r:.200} came")


@TOPIC.must(
    "RVBOX-C-035",
    given=_RUNS,
    when="it is signaled TERMINATE in its revision",
    expect="an exit, CANCELED, within the time",
    source="rvbox 1, Commands: SignalCommand; Further rules, Signals",
)
async def terminated(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server)
    await server.say(w.SignalCommand(dispatch.issue_uuid, 1, w.SignalKind.TERMINATE))
    last = await server.until(w.CommandEvent, lambda each: isinstance(each.event, w.CommandExit))
    expect_exit([last], Lifecycle.CANCELED)


@TOPIC.must(
    "RVBOX-C-036",
    given=_RUNS,
    when="it is signaled in another revision, or with a number that is no signal",
    expect="AgentError CONFLICT, and INVALID_ARGUMENT, about it, and the session goes on",
    source="rvbox 1, Commands: SignalCommand; Further rules, Errors",
)
async def bad_signals(kit: HostAttempt) -> None:
    server = await kit.opened()
    uuid = (await kit.holding(server)).issue_uuid
    await server.say(w.SignalCommand(uuid, 7, w.SignalKind.TERMINATE))
    await server.expect_report(Code.CONFLICT, uuid)
    await server.say(w.SignalCommand(uuid, 1, 99))
    await server.expect_report(Code.INVALID_ARGUMENT, uuid)


@TOPIC.must(
    "RVBOX-C-037",
    given=_RUNS,
    when="it is dispatched in a higher revision",
    expect="accepted in that one, which signals must name from then on",
    source="rvbox 1, Commands: higher revision",
)
async def readdressed(kit: HostAttempt) -> None:
    server = await kit.opened()
    first = await kit.holding(server)
    again = await server.dispatch(issue_uuid=first.issue_uuid, spec=first.spec, command_revision=2)
    await server.accepted(again)
    await server.say(w.SignalCommand(first.issue_uuid, 1, w.SignalKind.TERMINATE))
    await server.expect_report(Code.CONFLICT, first.issue_uuid)


@TOPIC.must(
    "RVBOX-C-038",
    given=_OPEN,
    when="a signal or input comes for a command that it does not know",
    expect="AgentError NOT_FOUND about it, and the session goes on",
    source="rvbox 1, Further rules, Errors",
)
async def nobody(kit: HostAttempt) -> None:
    server, uuid = await kit.opened(), new_uuid()
    await server.say(w.SignalCommand(uuid, 1, w.SignalKind.KILL))
    await server.expect_report(Code.NOT_FOUND, uuid)
    await server.say(w.StdinWrite(uuid, 1, b"x"))
    await server.expect_report(Code.NOT_FOUND, uuid)


@TOPIC.must(
    "RVBOX-C-039",
    given="a command with open_stdin",
    when="write 1 comes, 1 again, and then 3",
    expect="a stdin_ack through 1, nothing for the repeat, and AgentError OUT_OF_ORDER for the gap",
    source="rvbox 1, Commands: Stdin",
)
async def written(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server, kit.given.listen_line, open_stdin=True)
    write = w.StdinWrite(dispatch.issue_uuid, 1, b"x", append_newline=True)
    await server.say(write)
    ack = await server.until(w.CommandEvent, lambda each: isinstance(each.event, w.StdinAck))
    if ack.event != w.StdinAck(1):
        raise Unmet("a stdin_ack through 1", f"{ack.event} came")
    await server.say(write, w.StdinWrite(dispatch.issue_uuid, 3, b"y"))
    await server.expect_report(Code.OUT_OF_ORDER, dispatch.issue_uuid)


@TOPIC.must(
    "RVBOX-C-040",
    given="a command without open_stdin",
    when="input comes for it",
    expect="AgentError INVALID_ARGUMENT about it, and the session goes on",
    source="rvbox 1, Commands: Stdin",
)
async def shut(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server)
    await server.say(w.StdinWrite(dispatch.issue_uuid, 1, b"x"))
    await server.expect_report(Code.INVALID_ARGUMENT, dispatch.issue_uuid)


@TOPIC.must(
    "RVBOX-C-041",
    given="a command that ended, of whose events two are acknowledged",
    when="the link is lost, and the server's target says that it has those two",
    expect="it in the snapshot, with its state, digest and last event; after the result, the "
    "events from 3 on, in order",
    source="rvbox 1, Session 6, 8",
)
async def resent(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch, events = await kit.done(server)
    await server.ack(dispatch, 2)
    server = await kit.again(server)
    target = w.ReconcileTarget(dispatch.issue_uuid, 2, 1, digest())
    state = (await server.snapshot([target])).get(dispatch.issue_uuid)
    wanted = w.ReconcileCommandState(
        dispatch.issue_uuid, Lifecycle.EXITED, len(events), 1, False, digest()
    )
    if state != wanted:
        raise Unmet(f"{wanted} in the snapshot", f"{state} came")
    await server.conclude()
    await server.events(dispatch, first=3)


@TOPIC.must(
    "RVBOX-C-042",
    given=_RUNS,
    when="the link is lost, and the result tells to terminate it",
    expect="no event of it any more, and no trace in the next snapshot",
    source="rvbox 1, Session 7; Further rules, Reconcile",
)
async def given_up(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server)
    server = await kit.again(server)
    if dispatch.issue_uuid not in await server.snapshot():
        raise Unmet("the running command in the snapshot", "it is not there")
    await server.conclude([dispatch.issue_uuid])
    if any(isinstance(each, w.CommandEvent) for each in await server.settle()):
        raise Unmet("no event of a command that was given up", "one came")
    await _expect_gone(server, dispatch)


async def _expect_gone(server: Server, dispatch: w.CommandDispatch) -> None:
    state = (await server.snapshot()).get(dispatch.issue_uuid)
    if state is not None and not state.tombstoned:
        raise Unmet("that the command is forgotten", f"{state} is in the snapshot")


@TOPIC.must(
    "RVBOX-C-043",
    given="a command that ended, and is not acknowledged",
    when="the link is lost, and the result tells to discard it",
    expect="no event of it any more, and no trace in the next snapshot",
    source="rvbox 1, Session 7",
)
async def discarded(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch, _ = await kit.done(server)
    server = await kit.again(server)
    await server.snapshot()
    await server.conclude((), [dispatch.issue_uuid])
    if any(isinstance(each, w.CommandEvent) for each in await server.settle()):
        raise Unmet("no event of a command that was discarded", "one came")
    await _expect_gone(server, dispatch)


@TOPIC.must(
    "RVBOX-C-044",
    given="a command whose exit is acknowledged",
    when="a ReconcileRequest names it as a target",
    expect="it in the snapshot, with tombstoned true; and in none that does not name it",
    source="rvbox 1, Session 6",
)
async def tombstone(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await _buried(kit, server)
    target = w.ReconcileTarget(dispatch.issue_uuid, 1, 1, digest())
    state = (await server.snapshot([target])).get(dispatch.issue_uuid)
    if state is None or not state.tombstoned:
        raise Unmet("its tombstone in the snapshot", f"{state} came")
    await server.conclude()
    await server.settle()
    if dispatch.issue_uuid in await server.snapshot():
        raise Unmet("tombstones of targets only", "it came without being asked for")


@TOPIC.must(
    "RVBOX-C-045",
    given=_OPEN,
    when="a command with a script is dispatched, a chunk has a wrong sum, and then the script "
    "comes whole",
    expect="AWAITING_SCRIPT as its first event, AgentError CHECKSUM_MISMATCH, and the command runs "
    "and ends",
    source="rvbox 1, Commands: Script; Further rules, Scripts",
)
async def scripted(kit: HostAttempt) -> None:
    text = f"{kit.given.line}\n".encode()
    sum = hashlib.sha256(text).digest()
    server = await kit.opened()
    dispatch = await server.dispatch(spec=w.ExecutionSpec(w.ScriptRef(len(text), sum)))
    await server.accepted(dispatch)
    first = await server.event(dispatch)
    if first.event != w.LifecycleChanged(Lifecycle.AWAITING_SCRIPT):
        raise Unmet("AWAITING_SCRIPT", f"{first.event!r:.200} came")
    uuid = dispatch.issue_uuid
    await server.say(w.ScriptChunk(uuid, 0, text, digest("other")))
    await server.expect_report(Code.CHECKSUM_MISMATCH, uuid)
    await server.say(w.ScriptChunk(uuid, 0, text, sum), w.ScriptCommit(uuid, len(text), sum))
    expect_exit(await server.events(dispatch, first=2))


@TOPIC.must(
    "RVBOX-C-046",
    given="a command that expires while it waits for its script",
    when="its queue_expiry_time passes",
    expect="an exit, EXPIRED",
    source="rvbox 1, Further rules, Scripts: queue expiry applies",
)
async def expired(kit: HostAttempt) -> None:
    server = await kit.opened()
    soon = kit.clock() + 2 * SECOND
    spec = w.ExecutionSpec(w.ScriptRef(1, digest()))
    dispatch = await server.dispatch(spec=spec, queue_expiry_time=soon)
    await server.accepted(dispatch)
    expect_exit(await server.events(dispatch), Lifecycle.EXPIRED)
