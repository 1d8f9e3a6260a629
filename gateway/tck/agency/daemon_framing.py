"""How frames stand on the stream: section 1.1, table and all."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.agency.daemon import DaemonAttempt
from fleetgate.gateway.tck.agency.talk import (
    BINARY,
    CAP,
    CLOSE,
    HELLO,
    PING,
    PONG,
    framed,
    read,
)
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("framing")

LIST: Final = '{"requestId":2,"type":"list_runs"}'
LIST_AGAIN: Final = '{"requestId":3,"type":"list_runs"}'
_GREETED: Final = "a connection on which hello was answered"


async def _expect_drop(kit: DaemonAttempt, data: bytes) -> None:
    """The daemon must close without another byte."""
    raw = await kit.raw_greeted()
    await raw.send(data)
    rest = await raw.rest()
    if rest:
        raise Unmet("the end, and not a byte before it", f"{len(rest)} bytes came: {rest[:64]!r}")


async def _expect_answers(kit: DaemonAttempt, pieces: list[bytes], ids: list[int]) -> None:
    raw = await kit.raw_greeted()
    for piece in pieces:
        await raw.send(piece)
    for id in ids:
        answer = read(await kit.raw_answer(raw))
        if answer.get("request_id") != id or answer.get("type") != "runs":
            raise Unmet(f"the runs, for request {id}", f"this came: {answer!r:.200}")


@TOPIC.must(
    "AGENCY-D-001",
    given=_GREETED,
    when="one frame arrives byte by byte",
    expect="one answer",
    source="agency 1.1; case A5",
)
async def split(kit: DaemonAttempt) -> None:
    await _expect_answers(kit, [bytes([byte]) for byte in framed(LIST)], [2])


@TOPIC.must(
    "AGENCY-D-002",
    given=_GREETED,
    when="two frames arrive in one write",
    expect="two answers, in order",
    source="agency 1.1; case A5",
)
async def merged(kit: DaemonAttempt) -> None:
    await _expect_answers(kit, [framed(LIST) + framed(LIST_AGAIN)], [2, 3])


@TOPIC.must(
    "AGENCY-D-003",
    given=_GREETED,
    when="a request comes as kind 1 (binary), and is UTF-8",
    expect="the answer that kind 0 would get",
    source="agency 1.1, table",
)
async def binary(kit: DaemonAttempt) -> None:
    await _expect_answers(kit, [framed(LIST, BINARY)], [2])


@TOPIC.must(
    "AGENCY-D-004",
    given=_GREETED,
    when="LENGTH is 1048577, the request padded with spaces",
    expect="the answer",
    source="agency 1.1, table",
)
async def largest(kit: DaemonAttempt) -> None:
    await _expect_answers(kit, [framed(LIST + " " * (CAP - 1 - len(LIST)))], [2])


@TOPIC.must(
    "AGENCY-D-005",
    given=_GREETED,
    when="LENGTH is 1048578, and nothing follows",
    expect="the end, at once and without a byte",
    source="agency 1.1, table",
)
async def too_large(kit: DaemonAttempt) -> None:
    await _expect_drop(kit, (CAP + 1).to_bytes(4, "big"))


@TOPIC.must(
    "AGENCY-D-006",
    given=_GREETED,
    when="LENGTH is 0",
    expect="the end, without a byte",
    source="agency 1.1, table",
)
async def empty(kit: DaemonAttempt) -> None:
    await _expect_drop(kit, bytes(4))


@TOPIC.must(
    "AGENCY-D-007",
    given=_GREETED,
    when="a text frame is not UTF-8",
    expect="the end, without a byte",
    source="agency 1.1, table",
)
async def not_utf8(kit: DaemonAttempt) -> None:
    await _expect_drop(kit, framed(b'{"requestId":2,"type":"list_runs","x":"\xff"}'))


@TOPIC.must(
    "AGENCY-D-008",
    given=_GREETED,
    when="a ping or a pong comes, or binary that is not UTF-8",
    expect="the end, without a byte",
    source="agency 1.1, table",
)
async def no_text(kit: DaemonAttempt) -> None:
    for data in (framed(b"", PING), framed(b"", PONG), framed(b"\xff", BINARY)):
        await _expect_drop(kit, data)


@TOPIC.must(
    "AGENCY-D-009",
    given=_GREETED,
    when="a frame of kind 9 comes",
    expect="the end, without a byte",
    source="agency 1.1, table",
)
async def unknown_kind(kit: DaemonAttempt) -> None:
    await _expect_drop(kit, framed(LIST, 9))


@TOPIC.must(
    "AGENCY-D-010",
    given=_GREETED,
    when="a close frame comes: empty, with code and reason, or with one byte",
    expect="the end, without a byte",
    source="agency 1.1, table",
)
async def closing(kit: DaemonAttempt) -> None:
    for payload in (b"", b"\x03\xe8bye", b"\x03"):
        await _expect_drop(kit, framed(payload, CLOSE))


@TOPIC.must(
    "AGENCY-D-011",
    given="a fresh connection",
    when="the stream ends inside a frame",
    expect="the end, without a byte",
    source="agency 1.1, table; case A5",
)
async def cut(kit: DaemonAttempt) -> None:
    raw = await kit.raw()
    await raw.send(b"\x00\x00\x00\x0a\x00{}")
    await raw.finish()
    rest = await raw.rest()
    if rest:
        raise Unmet("the end, and not a byte before it", f"{len(rest)} bytes came")
    await (await kit.dial()).hello()


@TOPIC.must(
    "AGENCY-D-012",
    given=_GREETED,
    when="requests are sent and the client closes its direction",
    expect="the answers, and then the end",
    source="agency 1.1, table",
)
async def half_closed(kit: DaemonAttempt) -> None:
    raw = await kit.raw_greeted()
    await raw.send(framed(LIST) + framed(LIST_AGAIN))
    await raw.finish()
    for id in (2, 3):
        answer = read(await kit.raw_answer(raw))
        if answer.get("request_id") != id:
            raise Unmet(f"the answer to request {id}", f"this came: {answer!r:.200}")
    if rest := await raw.rest():
        raise Unmet("the end behind the answers", f"{len(rest)} more bytes came")


@TOPIC.should(
    "AGENCY-D-013",
    given="a fresh connection",
    when="a client speaks the foundation's form, one JSON text a line",
    expect="the end, without a byte: its first four bytes are a length of 2 GB",
    source="agency 1.1, table; case A3",
)
async def lines(kit: DaemonAttempt) -> None:
    raw = await kit.raw()
    await raw.send(LIST.encode() + b"\n")
    if rest := await raw.rest():
        raise Unmet("the end, and not a byte before it", f"{rest[:64]!r} came")
    await (await kit.dial()).hello()


@TOPIC.must(
    "AGENCY-D-014",
    given="a connection whose frame was refused",
    when="another client says hello",
    expect="an answer: what is wrong on one connection is that connection's",
    source="agency 4.1 (4)",
)
async def others_live(kit: DaemonAttempt) -> None:
    other = await kit.greeted()
    await _expect_drop(kit, bytes(4))
    await other.expect_alive()
    await (await kit.dial()).hello()


@TOPIC.must(
    "AGENCY-D-015",
    given="a fresh connection",
    when="hello is said",
    expect="an answer of kind 0 whose LENGTH counts the kind byte, and no newline at its end",
    source="agency 1.1; case A1",
)
async def layout(kit: DaemonAttempt) -> None:
    raw = await kit.raw()
    await raw.send(framed(HELLO))
    frame = await kit.raw_answer(raw)
    read(frame)
    if not frame.endswith(b"}"):
        raise Unmet("a frame that ends with its JSON", f"it ends with {frame[-8:]!r}")
