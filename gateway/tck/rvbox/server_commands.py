"""What a server does with its commands: "Commands", and "Further rules". Somebody must make it
start some: `--on run`, `--on send`, `--on cancel`."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.peer import Skipped, Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.client import Client, ServerAttempt, told
from fleetgate.gateway.tck.rvbox.talk import new_uuid
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.limits import is_uuid
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

TOPIC: Final = Topic("commands")

_ASKED: Final = "an open session, and a server that is asked for a run (--on run)"
_RUNS: Final = "a command that was accepted and runs"

OUT: Final = w.OutputChunk(w.OutputStream.STDOUT, b"out\n")
EXIT: Final = w.CommandExit(w.CommandLifecycle.EXITED, 0)


@TOPIC.must(
    "RVBOX-S-040",
    given=_ASKED,
    when="it dispatches the command",
    expect="an issue_uuid in lower case, revision 1, the session's generation, a digest of 32 "
    "bytes, and a program",
    source="rvbox 1, Commands: CommandDispatch",
)
async def dispatched(kit: ServerAttempt) -> None:
    hello = told(kit.client_id())
    client = await kit.opened(hello)
    made = await kit.dispatched(client, hello)
    if not is_uuid(made.issue_uuid):
        raise Unmet("a lower-case UUID", f"{made.issue_uuid!r} came")
    wanted = (1, client.generation, 32)
    size = len(made.immutable_request_sha256)
    came = (made.command_revision, made.target_session_generation, size)
    if came != wanted:
        raise Unmet(f"revision, generation and bytes of digest {wanted}", f"{came} came")
    if made.spec.program is None:
        raise Unmet("a program", "there is none")


@TOPIC.info(
    "RVBOX-S-041",
    given=_ASKED,
    when="it dispatches the command",
    expect="the SHA-256 of a deterministic CommandDispatch of issue_uuid, issue_time, spec and "
    "queue_expiry_time alone as its digest",
    source="rvbox 1, Commands: CommandDispatch",
)
async def digest_of_request(kit: ServerAttempt) -> None:
    """No more than information: each library of protobuf has a deterministic order of its own."""
    hello = told(kit.client_id())
    made = await kit.dispatched(await kit.opened(hello), hello)
    wanted = codec.request_digest(made)
    if made.immutable_request_sha256 != wanted:
        raise Unmet(wanted.hex(), f"{made.immutable_request_sha256.hex()} came")


@TOPIC.must(
    "RVBOX-S-042",
    given="a client that says in hello and in its capacity that it takes no command",
    when="the server is asked for a run (--on run)",
    expect="no dispatch",
    source="rvbox 1, Commands: ClientCapacity",
)
async def no_room(kit: ServerAttempt) -> None:
    hello = told(kit.client_id(), max_running_commands=0, max_queued_commands=0)
    client = await kit.welcomed(hello)
    await client.reconcile()
    await client.report(most=0)
    details = {"name": new_uuid(), "line": kit.given.line, "client": hello.client_id}
    able = await kit.want("run", **details)
    if any(isinstance(each, w.CommandDispatch) for each in await client.settle()):
        raise Unmet("no dispatch to a client without room", "one came")
    if not able:
        raise Skipped("nobody was there to ask for a run: give --on run")
    await client.report()
    await client.settle()


@TOPIC.must(
    "RVBOX-S-043",
    given=_RUNS,
    when="it sends output and its exit",
    expect="acknowledgements up to the last event, and none beyond what was sent",
    source="rvbox 1, Commands: Events, EventAck",
)
async def acknowledged(kit: ServerAttempt) -> None:
    client, _, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    await client.tell(dispatch, 3, OUT)
    await client.tell(dispatch, 4, EXIT)
    await client.acked(dispatch, 4)


@TOPIC.must(
    "RVBOX-S-044",
    given=_RUNS,
    when="an event that was acknowledged comes again",
    expect="its acknowledgement again, and nothing else",
    source="rvbox 1, Commands: seq <= last",
)
async def repeated(kit: ServerAttempt) -> None:
    client, _, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    await client.settle()
    await client.tell(dispatch, 2, w.LifecycleChanged(w.CommandLifecycle.RUNNING, 7))
    await client.acked(dispatch, 2)


@TOPIC.must(
    "RVBOX-S-045",
    given=_RUNS,
    when="an event is left out",
    expect="AgentError OUT_OF_ORDER about it, and a ReconcileRequest that names its last event",
    source="rvbox 1, Commands: seq > last+1; Further rules, Reconcile",
)
async def gap(kit: ServerAttempt) -> None:
    client, _, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    await client.tell(dispatch, 4, OUT)
    await client.expect_report(Code.OUT_OF_ORDER, dispatch.issue_uuid)
    request = await client.until(w.ReconcileRequest, lambda _: True)
    _expect_target(request, dispatch, 2)


def _expect_target(request: w.ReconcileRequest, dispatch: w.CommandDispatch, last: int) -> None:
    wanted = w.ReconcileTarget(
        dispatch.issue_uuid, last, dispatch.command_revision, dispatch.immutable_request_sha256
    )
    if wanted not in request.targets:
        raise Unmet(f"{wanted} among the targets", f"{request.targets} came")


def state_of(dispatch: w.CommandDispatch, last: int) -> w.ReconcileCommandState:
    """As a client has it in its snapshot: running, with `last` events."""
    return w.ReconcileCommandState(
        dispatch.issue_uuid,
        w.CommandLifecycle.RUNNING,
        last,
        dispatch.command_revision,
        False,
        dispatch.immutable_request_sha256,
    )


async def come_again(kit: ServerAttempt, client: Client, hello: w.ClientHello) -> Client:
    """The link is lost, and the client has a new session, which is not reconciled."""
    await client.close(None)
    return await kit.welcomed(hello)


@TOPIC.must(
    "RVBOX-S-046",
    given=f"{_RUNS}, two of its events acknowledged",
    when="the link is lost, the client comes again, retains it, and sends what came since",
    expect="it among the targets with its last event; it is not terminated; the rest is "
    "acknowledged",
    source="rvbox 1, Session 5, 7, 8",
)
async def resumed(kit: ServerAttempt) -> None:
    client, hello, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    client = await come_again(kit, client, hello)
    _expect_target(await client.hear_a(w.ReconcileRequest), dispatch, 2)
    await client.say(w.ReconcileSnapshot((state_of(dispatch, 4),)))
    result = await client.hear_a(w.ReconcileResult)
    if dispatch.issue_uuid in result.terminate_local_issue_uuids:
        raise Unmet("that it is not terminated", f"{result} came")
    await client.tell(dispatch, 3, OUT)
    await client.tell(dispatch, 4, EXIT)
    await client.acked(dispatch, 4)


@TOPIC.must(
    "RVBOX-S-047",
    given="a command whose exit was acknowledged",
    when="the client comes again, and retains it still",
    expect="it in discard_local_terminal of the result (or in terminate_local), and not among the "
    "targets",
    source="rvbox 1, Session 7; Further rules, Reconcile",
)
async def settled(kit: ServerAttempt) -> None:
    client, hello, dispatch = await kit.running()
    await client.tell(dispatch, 3, EXIT)
    await client.acked(dispatch, 3)
    client = await come_again(kit, client, hello)
    request = await client.hear_a(w.ReconcileRequest)
    uuid = dispatch.issue_uuid
    if any(target.issue_uuid == uuid for target in request.targets):
        raise Unmet("no target that has ended", f"{request.targets} came")
    await client.say(w.ReconcileSnapshot((state_of(dispatch, 3),)))
    result = await client.hear_a(w.ReconcileResult)
    told = (*result.discard_local_terminal_issue_uuids, *result.terminate_local_issue_uuids)
    if uuid not in told:
        raise Unmet("that it is discarded", f"{result} came")


@TOPIC.must(
    "RVBOX-S-048",
    given="a dispatch that the client rejects",
    when="the session goes on",
    expect="that it is not sent again at once",
    source="rvbox 1, Commands: never blindly",
)
async def rejected(kit: ServerAttempt) -> None:
    hello = told(kit.client_id())
    client = await kit.opened(hello)
    made = await kit.dispatched(client, hello)
    refusal = w.ControlError(Code.INVALID_ARGUMENT, "no")
    await client.say(w.CommandAccepted(made.issue_uuid, 1, False, refusal))
    for each in await client.settle():
        if isinstance(each, w.CommandDispatch) and each.issue_uuid == made.issue_uuid:
            raise Unmet("no second dispatch of it", "one came")


@TOPIC.must(
    "RVBOX-S-049",
    given=_RUNS,
    when="it is to be canceled (--on cancel)",
    expect="a SignalCommand about it in its revision, TERMINATE or KILL",
    source="rvbox 1, Commands: SignalCommand",
)
async def canceled(kit: ServerAttempt) -> None:
    client, _, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    signal = await kit.asked(client, w.SignalCommand, "cancel", run=dispatch.issue_uuid)
    if (signal.issue_uuid, signal.command_revision) != (dispatch.issue_uuid, 1):
        raise Unmet("the command's uuid and revision", f"{signal} came")
    if signal.signal not in (w.SignalKind.TERMINATE, w.SignalKind.KILL):
        raise Unmet("TERMINATE or KILL", f"{signal} came")


@TOPIC.must(
    "RVBOX-S-050",
    given=_RUNS,
    when="it is to be told something, twice (--on send)",
    expect="StdinWrite 1, then 2, with the bytes as they were given",
    source="rvbox 1, Commands: Stdin",
)
async def told_twice(kit: ServerAttempt) -> None:
    client, _, dispatch = await kit.running()
    await client.acked(dispatch, 2)
    for number, text in enumerate(("one", "two"), 1):
        write = await kit.asked(client, w.StdinWrite, "send", run=dispatch.issue_uuid, text=text)
        if (write.write_seq, text.encode() in write.data) != (number, True):
            raise Unmet(f"write {number} with {text!r}", f"{write.write_seq}, {write.data!r} came")
