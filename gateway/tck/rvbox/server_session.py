"""A server's sessions: who is welcome, the fence, reconcile. "Carriage", "Session", and "Further
rules"."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.rvbox.client import Client, ServerAttempt, told
from fleetgate.gateway.tck.rvbox.talk import (
    GARBAGE,
    LIMIT,
    POLICY,
    STALE,
    SUPERSEDED,
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
from fleetgate.transports.address import parse_address

TOPIC: Final = Topic("session")

HELLO_WITHIN: Final = 10.0
SNAPSHOT_WITHIN: Final = 30.0
"""Seconds that a client has for each; then the server closes."""

_FRESH: Final = "a fresh link"
_OPEN: Final = "an open session"
_ENDS: Final = "AgentError PROTOCOL_VIOLATION with close_session, and close 1002"


@TOPIC.must(
    "RVBOX-S-001",
    given=_FRESH,
    when="hello is said",
    expect="ServerWelcome of version 1.0, in an envelope with a session_id and a generation from 1",
    source="rvbox 1, Session 2",
)
async def welcome(kit: ServerAttempt) -> None:
    client = await kit.dial()
    said = await client.enter(told(kit.client_id()))
    if said.selected_protocol != V1:
        raise Unmet("version 1.0", f"{said.selected_protocol} came")
    if not client.session or client.generation < 1:
        raise Unmet("a session and a generation from 1", f"{client.session!r}, {client.generation}")


@TOPIC.must(
    "RVBOX-S-002",
    given="a client that was welcomed",
    when="nothing more is said",
    expect="a ReconcileRequest, although nothing runs there, and nothing else before the snapshot",
    source="rvbox 1, Session 5",
)
async def asks(kit: ServerAttempt) -> None:
    client = await kit.welcomed()
    await client.hear_a(w.ReconcileRequest)
    await client.expect_quiet("nothing before the snapshot")


@TOPIC.must(
    "RVBOX-S-003",
    given="a client that was asked for its snapshot",
    when="it retains nothing",
    expect="a ReconcileResult that is empty",
    source="rvbox 1, Session 7",
)
async def nothing(kit: ServerAttempt) -> None:
    result = await (await kit.welcomed()).reconcile()
    if result != w.ReconcileResult():
        raise Unmet("an empty result", f"{result} came")


@TOPIC.must(
    "RVBOX-S-004",
    given="a client that has left",
    when="it comes again",
    expect="another session_id, and a generation that is one higher",
    source="rvbox 1, Session 2",
)
async def generations(kit: ServerAttempt) -> None:
    hello = told(kit.client_id())
    first = await kit.opened(hello)
    await first.close()
    second = await kit.opened(hello)
    if second.session == first.session or second.generation != first.generation + 1:
        came = f"{second.session!r}, {second.generation}"
        raise Unmet(f"another session than {first.session!r}, {first.generation + 1}", came)


@TOPIC.must(
    "RVBOX-S-005",
    given=_FRESH,
    when="a hello offers versions from 2.0 on",
    expect="AgentError UNSUPPORTED_VERSION with close_session, close 1008",
    source="rvbox 1, Session 1; Further rules, Hello",
)
async def other_version(kit: ServerAttempt) -> None:
    client, two = await kit.dial(), w.ProtocolVersion(2, 0)
    await client.say(told(kit.client_id(), supported_protocol=w.ProtocolRange(two, two)))
    await client.expect_error(Code.UNSUPPORTED_VERSION, POLICY)


@TOPIC.must(
    "RVBOX-S-006",
    given=_FRESH,
    when="a hello's client_id is empty, has a space or 129 characters; or it names no instance, no "
    "shell, or no range of versions",
    expect="AgentError INVALID_ARGUMENT with close_session, close 1008",
    source="rvbox 1, Session 1; Further rules, Hello",
)
async def bad_hello(kit: ServerAttempt) -> None:
    id = kit.client_id()
    for hello in (
        told(""),
        told("a b"),
        told("a" * 129),
        told(id, client_instance_id=""),
        told(id, supported_shells=()),
        told(id, supported_protocol=None),
    ):
        client = await kit.dial()
        await client.say(hello)
        await client.expect_error(Code.INVALID_ARGUMENT, POLICY)


@TOPIC.must(
    "RVBOX-S-007",
    given=_FRESH,
    when="something is said before hello, or hello in a session",
    expect=_ENDS,
    source="rvbox 1, Further rules, Hello",
)
async def hello_first(kit: ServerAttempt) -> None:
    for payload, session in ((w.ClientCapacity(), ("", 0)), (told(kit.client_id()), ("s", 1))):
        client = await kit.dial()
        await client.say(payload, session=session)
        await client.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-S-008",
    given=_OPEN,
    when="hello is said again",
    expect=_ENDS,
    source="rvbox 1, Session 3; Further rules, Hello",
)
async def hello_once(kit: ServerAttempt) -> None:
    hello = told(kit.client_id())
    client = await kit.opened(hello)
    await client.say(hello, session=("", 0))
    await client.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-S-009",
    given=_OPEN,
    when="an envelope carries another session_id, or another generation",
    expect="AgentError STALE_SESSION with close_session, and close 4001",
    source="rvbox 1, Session 3",
)
async def fenced(kit: ServerAttempt) -> None:
    for wrong in (1, 0):
        client = await kit.opened()
        id = client.session if wrong else "another"
        await client.say(w.ClientCapacity(), session=(id, client.generation + wrong))
        await client.expect_error(Code.STALE_SESSION, STALE)


@TOPIC.must(
    "RVBOX-S-010",
    given=_OPEN,
    when="bytes come that are no envelope",
    expect=_ENDS,
    source="rvbox 1, Carriage",
)
async def garbage(kit: ServerAttempt) -> None:
    client = await kit.opened()
    await client.send(GARBAGE)
    await client.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-S-011",
    given=_OPEN,
    when="an envelope comes that only a server may send",
    expect=_ENDS,
    source="rvbox 1, Further rules, Hello",
)
async def wrong_direction(kit: ServerAttempt) -> None:
    for payload in (w.ReconcileResult(), w.EventAck(new_uuid(), 1)):
        client = await kit.opened()
        await client.say(payload)
        await client.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


def _unknown(session: str, generation: int) -> bytes:
    return codec.encode(w.Envelope(session, generation, w.Unknown())) + b"\xfa\x07\x01x"


@TOPIC.must(
    "RVBOX-S-012",
    given="an open session with a client of 1.0",
    when="an envelope comes without a payload that is known",
    expect=_ENDS,
    source="rvbox 1, Carriage",
)
async def unknown(kit: ServerAttempt) -> None:
    client = await kit.opened()
    await client.send(_unknown(client.session, client.generation))
    await client.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION)


@TOPIC.must(
    "RVBOX-S-013",
    given="an open session with a client that speaks up to 1.7, too",
    when="an envelope comes without a payload that is known",
    expect="version 1.0, and that the envelope is ignored",
    source="rvbox 1, Carriage",
)
async def lenient(kit: ServerAttempt) -> None:
    range = w.ProtocolRange(V1, w.ProtocolVersion(1, 7))
    client = await kit.opened(told(kit.client_id(), supported_protocol=range))
    await client.send(_unknown(client.session, client.generation))
    heard = await client.settle()
    if any(isinstance(each, w.AgentError) for each in heard):
        raise Unmet("that it is ignored", f"{client.last[:300]} came")


@TOPIC.must(
    "RVBOX-S-014",
    given=_FRESH,
    when="a text message comes",
    expect="close 1003",
    source="rvbox 1, Carriage",
)
async def text(kit: ServerAttempt) -> None:
    kit.only_over(("ws", "wss"), "only WebSocket has text messages")
    client = await kit.peer(Client, binary=False)
    await client.send(b"hello")
    await client.expect_end(TEXT)


@TOPIC.must(
    "RVBOX-S-015",
    given=_OPEN,
    when="a message of more than 1 MiB comes",
    expect="close 1009",
    source="rvbox 1, Carriage",
)
async def too_large(kit: ServerAttempt) -> None:
    client = await kit.opened()
    write = w.ClientHello(daemon_version="x" * (LIMIT + 1))
    await client.send(codec.encode(w.Envelope("", 0, write))[: LIMIT + 1])
    await client.expect_end(TOO_LARGE)


@TOPIC.must(
    "RVBOX-S-016",
    given="a client with an open session",
    when="the same client_id comes again with the same client_instance_id",
    expect="that the newest wins: a welcome there, and on the older link SUPERSEDED and close 4002",
    source="rvbox 1, Session 4",
)
async def superseded(kit: ServerAttempt) -> None:
    hello = told(kit.client_id())
    first = await kit.opened(hello)
    await kit.opened(hello)
    await first.expect_error(Code.SUPERSEDED, SUPERSEDED)


@TOPIC.must(
    "RVBOX-S-017",
    given="a client with an open session",
    when="the same client_id comes with another client_instance_id",
    expect="AgentError CLIENT_ID_IN_USE with close_session, close 1008; the older session lives on",
    source="rvbox 1, Session 4; Further rules, Hello",
)
async def in_use(kit: ServerAttempt) -> None:
    id = kit.client_id()
    first = await kit.opened(told(id))
    second = await kit.dial()
    await second.say(told(id))
    await second.expect_error(Code.CLIENT_ID_IN_USE, POLICY)
    await first.report()
    await first.settle()


@TOPIC.must(
    "RVBOX-S-018",
    given="a client that was asked for its snapshot",
    when="it retains a command that the server does not know",
    expect="its uuid in terminate_local of the result",
    source="rvbox 1, Session 7",
)
async def stranger(kit: ServerAttempt) -> None:
    uuid = new_uuid()
    running = w.CommandLifecycle.RUNNING
    state = w.ReconcileCommandState(uuid, running, 2, 1, False, digest())
    result = await (await kit.welcomed()).reconcile(state)
    if uuid not in result.terminate_local_issue_uuids:
        raise Unmet(f"{uuid} in terminate_local", f"{result} came")


@TOPIC.must(
    "RVBOX-S-019",
    given=_FRESH,
    when="nothing is said for 10 s",
    expect=_ENDS,
    source="rvbox 1, Session 1; Further rules, Hello",
)
async def no_hello(kit: ServerAttempt) -> None:
    client = await kit.dial()
    within = HELLO_WITHIN + kit.patience.within
    await client.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION, within=within)


@TOPIC.must(
    "RVBOX-S-020",
    given="a client that was asked for its snapshot",
    when="none comes for 30 s",
    expect=_ENDS,
    source="rvbox 1, Session 6; Further rules, Hello",
)
async def no_snapshot(kit: ServerAttempt) -> None:
    client = await kit.welcomed()
    await client.hear_a(w.ReconcileRequest)
    within = SNAPSHOT_WITHIN + kit.patience.within
    await client.expect_error(Code.PROTOCOL_VIOLATION, VIOLATION, within=within)


@TOPIC.must(
    "RVBOX-S-021",
    given=_OPEN,
    when="an event comes of a command that the server does not know",
    expect="AgentError NOT_FOUND about it, and the session goes on",
    source="rvbox 1, Further rules, Acks and events",
)
async def foreign_event(kit: ServerAttempt) -> None:
    client, uuid = await kit.opened(), new_uuid()
    await client.say(w.CommandEvent(uuid, 1, 1, None, w.LifecycleChanged(2)))
    await client.expect_report(Code.NOT_FOUND, uuid)
    await client.settle()


@TOPIC.must(
    "RVBOX-S-022",
    given=_FRESH,
    when="the upgrade asks for another path",
    expect="HTTP 404",
    source="rvbox 1, Further rules, Hello: another path",
)
async def other_path(kit: ServerAttempt) -> None:
    kit.only_over(("ws",), "only WebSocket has paths, and only ws: can be written by hand")
    address, raw = parse_address(kit.target.address), await kit.raw()
    shown = f"Authorization: Bearer {kit.given.token}\r\n" if kit.given.token else ""
    await raw.send(
        f"GET /tck-else HTTP/1.1\r\nHost: {address.host}:{address.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{shown}\r\n".encode()
    )
    line, _, _ = (await raw.through(b"\r\n")).partition(b"\r\n")
    if line.split(b" ")[1:2] != [b"404"]:
        raise Unmet("HTTP 404", f"{line.decode('latin-1')} came")
