"""A host's session: hello, fence, reconcile. "Session", 1 to 8, and "Further rules"."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.host import HostAttempt
from fleetgate.gateway.tck.rvbox.talk import (
    GARBAGE,
    LIMIT,
    STALE,
    TEXT,
    TOO_LARGE,
    V1,
    VIOLATION,
    digest,
    new_uuid,
)
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

TOPIC: Final = Topic("session")

_DIALLED: Final = "a host that has dialled"
_OPEN: Final = "a host with an open session"


@TOPIC.must(
    "RVBOX-C-001",
    given=_DIALLED,
    when="nothing is said to it",
    expect="a ClientHello as its first envelope, with an empty session_id and generation 0",
    source="rvbox 1, Session 1",
)
async def hello(kit: HostAttempt) -> None:
    await (await kit.arrive()).hello()


@TOPIC.must(
    "RVBOX-C-002",
    given=_DIALLED,
    when="it says hello",
    expect="a client_id of 1 to 128 printable ASCII characters, a client_instance_id, at least one "
    "shell, and a range of versions that holds 1.0",
    source="rvbox 1, Session 1",
)
async def members(kit: HostAttempt) -> None:
    said = await (await kit.arrive()).hello()
    id = said.client_id
    if not 1 <= len(id) <= 128 or not all("!" <= letter <= "~" for letter in id):
        raise Unmet("a client_id of 1 to 128 printable ASCII characters", f"{id!r:.200} came")
    if not said.client_instance_id:
        raise Unmet("a client_instance_id", "it is empty")
    if not said.supported_shells:
        raise Unmet("a shell", "none is named")
    spoken = said.supported_protocol
    if spoken is None or not spoken.minimum <= V1 <= spoken.maximum:
        raise Unmet("a range of versions that holds 1.0", f"{spoken} came")


@TOPIC.must(
    "RVBOX-C-003",
    given="a host that has said hello",
    when="it is not welcomed yet",
    expect="nothing more",
    source="rvbox 1, Session 2",
)
async def waits(kit: HostAttempt) -> None:
    server = await kit.arrive()
    await server.hello()
    await server.expect_quiet("nothing before the welcome")


@TOPIC.must(
    "RVBOX-C-004",
    given="a host that was welcomed",
    when="a ReconcileRequest without targets comes",
    expect="one ReconcileSnapshot with the welcome's session and generation, and nothing else "
    "before the result",
    source="rvbox 1, Session 3, 5, 6; Further rules, Reconcile",
)
async def snapshot(kit: HostAttempt) -> None:
    server = await kit.welcomed()
    await server.snapshot()
    await server.expect_quiet("nothing between the snapshot and the result")


@TOPIC.must(
    "RVBOX-C-005",
    given="a host whose snapshot has come",
    when="the ReconcileResult comes",
    expect="a ClientCapacity",
    source="rvbox 1, Commands: ClientCapacity",
)
async def capacity(kit: HostAttempt) -> None:
    server = await kit.welcomed()
    await server.snapshot()
    await server.conclude()
    await server.hear_a(w.ClientCapacity)


@TOPIC.must(
    "RVBOX-C-006",
    given=_OPEN,
    when="its link is lost",
    expect="that it dials again, with the same client_id and client_instance_id",
    source="rvbox 1, Session 4; Dialling",
)
async def same_instance(kit: HostAttempt) -> None:
    server = await kit.arrive()
    first = await server.welcome()
    await server.reconcile()
    await server.close(None)
    second = await (await kit.arrive()).hello()
    for name in ("client_id", "client_instance_id"):
        if getattr(first, name) != getattr(second, name):
            raise Unmet(f"the same {name}", "it is another")


@TOPIC.must(
    "RVBOX-C-007",
    given=_OPEN,
    when="an envelope carries another session_id, or another generation",
    expect="AgentError STALE_SESSION with close_session, and close 4001",
    source="rvbox 1, Session 3",
)
async def fenced(kit: HostAttempt) -> None:
    for wrong in (1, 0):
        server = await kit.opened()
        id = server.session if wrong else "another"
        await server.say(w.ReconcileRequest(), session=(id, server.generation + wrong))
        await server.expect_error(Code.STALE_SESSION, STALE)


@TOPIC.must(
    "RVBOX-C-008",
    given=_OPEN,
    when="a dispatch carries another session",
    expect="that nothing of it is done: the command is in no later snapshot",
    source="rvbox 1, Session 3",
)
async def not_acted_on(kit: HostAttempt) -> None:
    server = await kit.opened()
    dispatch = w.CommandDispatch(new_uuid(), 1, server.generation, 0, kit.spec(), None, digest())
    await server.say(dispatch, session=("another", server.generation))
    await server.expect_error(Code.STALE_SESSION, STALE)
    if dispatch.issue_uuid in await (await kit.welcomed()).snapshot():
        raise Unmet("that the command is unknown", "it is in the snapshot")


@TOPIC.must(
    "RVBOX-C-009",
    given=_OPEN,
    when="bytes come that are no envelope",
    expect="AgentError PROTOCOL_VIOLATION with close_session, and close 1002",
    source="rvbox 1, Carriage",
)
async def garbage(kit: HostAttempt) -> None:
    server = await kit.opened()
    await server.send(GARBAGE)
    await server.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-C-010",
    given=_OPEN,
    when="an envelope comes that only a client may send",
    expect="AgentError PROTOCOL_VIOLATION with close_session, and close 1002",
    source="rvbox 1, Further rules, Hello",
)
async def wrong_direction(kit: HostAttempt) -> None:
    for payload in (w.ClientCapacity(), w.CommandAccepted(new_uuid(), 1, True)):
        server = await kit.opened()
        await server.say(payload)
        await server.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-C-011",
    given=_OPEN,
    when="an envelope comes without a payload that is known",
    expect="AgentError PROTOCOL_VIOLATION with close_session, and close 1002: a client cannot know "
    "the server's minor",
    source="rvbox 1, Carriage; Further rules, Hello",
)
async def unknown(kit: HostAttempt) -> None:
    server = await kit.opened()
    empty = codec.encode(w.Envelope(server.session, server.generation, w.Unknown()))
    await server.send(empty + b"\xfa\x07\x01x")
    await server.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-C-012",
    given=_OPEN,
    when="a ReconcileRequest comes in mid-session",
    expect="a snapshot again, and after the result the session goes on",
    source="rvbox 1, Further rules, Reconcile",
)
async def reconciled_again(kit: HostAttempt) -> None:
    server = await kit.opened()
    await server.reconcile()
    await kit.done(server)


@TOPIC.must(
    "RVBOX-C-013",
    given=_OPEN,
    when="a text message comes",
    expect="close 1003",
    source="rvbox 1, Carriage",
)
async def text(kit: HostAttempt) -> None:
    kit.only_over(("ws", "wss"), "only WebSocket has text messages")
    server = await kit.opened()
    await server.send_other(b"hello")
    await server.expect_end(TEXT)


@TOPIC.must(
    "RVBOX-C-014",
    given=_OPEN,
    when="a message of more than 1 MiB comes",
    expect="close 1009",
    source="rvbox 1, Carriage",
)
async def too_large(kit: HostAttempt) -> None:
    server = await kit.opened()
    error = w.AgentError(w.ControlError(Code.INTERNAL, "x" * (LIMIT + 1)))
    envelope = w.Envelope(server.session, server.generation, error)
    await server.send(codec.encode(envelope)[: LIMIT + 1])
    await server.expect_end(TOO_LARGE)
