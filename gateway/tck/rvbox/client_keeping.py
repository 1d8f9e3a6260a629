"""What a host keeps of its commands from link to link, and scripts: "Session" 6 to 8, "Script"."""

from __future__ import annotations

import hashlib
import time
from typing import Final

import attrs

from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.host import HostAttempt, Lifecycle, Server, expect_exit, runs
from fleetgate.gateway.tck.rvbox.talk import digest
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

TOPIC: Final = Topic("keeping")

SECOND: Final = 1_000_000_000

_OPEN: Final = "a host with an open session"
_RUNS: Final = "a command that runs and goes on"


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
    dispatch = await kit.buried(server)
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
    # The host has a clock of its own, and the wall's may have been set since the kit began.
    soon = max(kit.clock(), time.time_ns()) + 2 * SECOND
    spec = w.ExecutionSpec(w.ScriptRef(1, digest()))
    dispatch = await server.dispatch(spec=spec, queue_expiry_time=soon)
    await server.accepted(dispatch)
    expect_exit(await server.events(dispatch), Lifecycle.EXPIRED)


@TOPIC.must(
    "RVBOX-C-047",
    given="a command that runs and goes on, and one that ended and is not acknowledged",
    when="both are dispatched again on the next link, the same uuid and digest",
    expect="accepted again, and executed once: no second RUNNING",
    source="rvbox 1, Commands: same uuid, same hash, known",
)
async def known_again(kit: HostAttempt) -> None:
    server = await kit.opened()
    ended, _ = await kit.done(server)
    going = await kit.holding(server)
    server = await kit.again(server)
    await server.snapshot()
    await server.conclude()
    await server.settle()  # what is not acknowledged has come again
    for known in (going, ended):
        again = attrs.evolve(known, target_session_generation=server.generation)
        await server.say(again)
        await server.accepted(again)
        if any(isinstance(each, w.CommandEvent) and runs(each) for each in await server.settle()):
            raise Unmet("that it is executed once", "RUNNING came again")
