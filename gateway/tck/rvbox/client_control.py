"""Acknowledgements, signals and input for a host's commands: "Commands", and "Further rules"."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.host import (
    MOST,
    HostAttempt,
    Lifecycle,
    Server,
    expect_exit,
    runs,
)
from fleetgate.gateway.tck.rvbox.talk import VIOLATION, digest, new_uuid
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

TOPIC: Final = Topic("control")

_OPEN: Final = "a host with an open session"
_RUNS: Final = "a command that runs and goes on"
_ENDED: Final = "a command that has ended"


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
    await server.settle()


@TOPIC.must(
    "RVBOX-C-037",
    given=_RUNS,
    when="it is dispatched in a higher revision",
    expect="accepted in that one, which signals must name from then on; the session goes on",
    source="rvbox 1, Commands: higher revision",
)
async def readdressed(kit: HostAttempt) -> None:
    server = await kit.opened()
    first = await kit.holding(server)
    again = await server.dispatch(issue_uuid=first.issue_uuid, spec=first.spec, command_revision=2)
    await server.accepted(again)
    await server.say(w.SignalCommand(first.issue_uuid, 1, w.SignalKind.TERMINATE))
    await server.expect_report(Code.CONFLICT, first.issue_uuid)
    await server.settle()


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
    await server.settle()


@TOPIC.must(
    "RVBOX-C-039",
    given="a command with open_stdin",
    when="write 1 comes, 1 again, and then 3",
    expect="a stdin_ack through 1, neither it nor an error for the repeat, AgentError OUT_OF_ORDER "
    "about the gap, and the session goes on",
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
    await server.say(write)
    for heard in await server.settle():
        event = heard.event if isinstance(heard, w.CommandEvent) else heard
        if isinstance(event, w.StdinAck | w.AgentError):
            raise Unmet("nothing for the repeat", f"{event!r:.200} came")
    await server.say(w.StdinWrite(dispatch.issue_uuid, 3, b"y"))
    await server.expect_report(Code.OUT_OF_ORDER, dispatch.issue_uuid)
    await server.settle()


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
    await server.settle()


@TOPIC.must(
    "RVBOX-C-055",
    given="a command with open_stdin",
    when="its input is closed by write 1, and then 1 and 2 come",
    expect="nothing for the repeat, AgentError INVALID_ARGUMENT about the other, and the session "
    "goes on",
    source="rvbox 1, Commands: Stdin; Further rules, Stdin",
)
async def behind_the_close(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = await kit.holding(server, open_stdin=True)
    uuid = dispatch.issue_uuid
    await server.say(w.CloseStdin(uuid, 1))
    await server.settle()
    await server.say(w.CloseStdin(uuid, 1), w.StdinWrite(uuid, 1, b"x"))
    if any(isinstance(heard, w.AgentError) for heard in await server.settle()):
        raise Unmet("nothing for the repeat", f"{server.last[:300]} came")
    await server.say(w.StdinWrite(uuid, 2, b"x"))
    await server.expect_report(Code.INVALID_ARGUMENT, uuid)
    await server.settle()


async def _expect_canceled(server: Server, dispatch: w.CommandDispatch) -> None:
    """Its exit must be the next that happens to it, but for what was under way."""
    while True:
        event = await server.event(dispatch)
        if isinstance(event.event, w.CommandExit):
            expect_exit([event], Lifecycle.CANCELED)
            return
        if runs(event):
            raise Unmet("that it does not run any more", "RUNNING came")


@TOPIC.must(
    "RVBOX-C-056",
    given="a command that waits for its script",
    when="it is signaled INTERRUPT",
    expect="an exit, CANCELED, and no RUNNING: AWAITING_SCRIPT counts as queued",
    source="rvbox 1, Commands: SignalCommand; Further rules, Signals",
)
async def signaled_early(kit: HostAttempt) -> None:
    server = await kit.opened()
    spec = w.ExecutionSpec(w.ScriptRef(1, digest()))
    dispatch = await server.dispatch(spec=spec)
    await server.accepted(dispatch)
    await server.say(w.SignalCommand(dispatch.issue_uuid, 1, w.SignalKind.INTERRUPT))
    await _expect_canceled(server, dispatch)


@TOPIC.must(
    "RVBOX-C-057",
    given="a host on which as many commands run as it has said in hello, and one that is queued",
    when="the queued one is signaled HANGUP",
    expect="an exit of that one, CANCELED, and no RUNNING",
    source="rvbox 1, Commands: SignalCommand",
)
async def signaled_in_line(kit: HostAttempt) -> None:
    server = await kit.arrive()
    hello = await server.welcome()
    await server.reconcile()
    most = hello.max_running_commands
    if most > MOST or not hello.max_queued_commands or hello.platform == w.Platform.WINDOWS:
        raise Skipped(f"it runs {most} commands, queues {hello.max_queued_commands}, or is Windows")
    for _ in range(most):
        going = await server.dispatch(spec=kit.spec(kit.given.hold_line))
        await server.accepted(going)
        await server.until(w.CommandEvent, runs)
    dispatch = await server.dispatch(spec=kit.spec())
    await server.accepted(dispatch)
    await server.settle()
    await server.say(w.SignalCommand(dispatch.issue_uuid, 1, w.SignalKind.HANGUP))
    await _expect_canceled(server, dispatch)
    await server.settle()
    await server.reconcile()
