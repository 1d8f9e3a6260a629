"""What a host does with commands: "Commands", and "Further rules"."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, Final

from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.host import MOST, HostAttempt, Lifecycle, expect_exit, runs
from fleetgate.gateway.tck.rvbox.talk import digest, expect_code
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


@TOPIC.must(
    "RVBOX-C-032",
    given="a command whose exit is acknowledged",
    when="its uuid is dispatched again, with its own digest and with another",
    expect="rejected with ALREADY_FINISHED, and with CONFLICT",
    source="rvbox 1, Commands: tombstoned; Further rules, Dispatch",
)
async def buried(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.buried(server)
    await server.say(dispatch)
    expect_code(await server.answer(dispatch), Code.ALREADY_FINISHED)
    other = await server.dispatch(
        issue_uuid=dispatch.issue_uuid,
        spec=kit.spec(),
        immutable_request_sha256=digest("other"),
    )
    expect_code(await server.answer(other), Code.CONFLICT)


@TOPIC.must(
    "RVBOX-C-048",
    given="a host with an open session, which has nothing to do",
    when="one command more is dispatched than it has said in hello to have room for",
    expect="CommandAccepted for all; rejected with QUEUE_FULL is the last one, and no other",
    source="rvbox 1, Commands: QUEUE_FULL",
)
async def filled(kit: HostAttempt) -> None:
    server = await kit.arrive()
    hello = await server.welcome()
    await server.reconcile()
    room = hello.max_running_commands + hello.max_queued_commands
    if room > MOST:
        raise Skipped(f"it has room for {room} commands, more than {MOST}")
    for _ in range(room):
        await server.accepted(await server.dispatch(spec=kit.spec(kit.given.hold_line)))
    answer = await server.answer(await server.dispatch(spec=kit.spec(kit.given.hold_line)))
    if answer.accepted:
        raise Unmet(f"that command {room + 1} is rejected", "it is accepted")
    expect_code(answer, Code.QUEUE_FULL)
    await server.settle()
    await server.reconcile()
