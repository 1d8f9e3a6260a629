"""What HTTP/2 says of each frame, case by case, to a server of ours: RFC 9113, whose sections the
names of the cases begin with. Bytes in, bytes out; no loop, no socket."""

from __future__ import annotations

import pytest
from h2.errors import ErrorCodes as Code
from hyperframe.frame import RstStreamFrame, SettingsFrame

from fleetgate.transports.api import Options
from fleetgate.transports.grpc_connection import PREFACE
from fleetgate.transports.grpc_http2 import CALLS, FRAME
from fleetgate.transports.grpc_http2_testing import (
    ACK,
    BIGGEST,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITIZED,
    PRIORITY,
    PUSH,
    RST,
    SETTINGS,
    WINDOW,
    Wire,
    fields,
    frame,
    made_of,
    setting,
    window,
)
from fleetgate.transports.grpc_server import ServerConnection, served
from fleetgate.transports.grpc_testing import TALK, talking


def block(**more: str) -> bytes:
    """A call's headers, which leave the table of names alone."""
    wanted = {
        ":method": "POST",
        ":scheme": "http",
        ":path": TALK,
        ":authority": "x",
        "content-type": "application/grpc",
        "te": "trailers",
        **more,
    }
    return fields(*wanted.items())


def call(stream: int, flags: int = END_HEADERS) -> bytes:
    return frame(HEADERS, flags, stream, block())


def served_by(options: Options) -> tuple[ServerConnection, Wire]:
    """A connection whose calls run nowhere, behind its handshake."""
    connection = ServerConnection(
        "peer", options, served(options, {}), lambda *_call: None, lambda _: False
    )
    wire = Wire()
    connection.connection_made(wire)
    connection.data_received(PREFACE + frame(SETTINGS, 0, 0))
    wire.written = b""
    return connection, wire


def said(*inputs: bytes) -> tuple[str, Code | None]:
    """What a server makes of these bytes, as `made_of` has it."""
    connection, wire = served_by(talking())
    return made_of(connection, wire, *inputs)


PROTOCOL, SIZE, FLOW = Code.PROTOCOL_ERROR, Code.FRAME_SIZE_ERROR, Code.FLOW_CONTROL_ERROR
CLOSED = Code.STREAM_CLOSED

ENDED: dict[str, tuple[bytes, set[Code]]] = {
    "4.2 a frame above what we take": (call(1) + frame(DATA, 0, 1, bytes(FRAME + 1)), {SIZE}),
    "4.2 the head of such a frame, before a byte of it has come": (
        call(1) + frame(DATA, 0, 1, length=FRAME + 1), {SIZE}),
    "4.2 the head of a longest frame, of a type that nobody knows": (
        frame(0xF0, 0, 1, length=2**24 - 1)[:3], {SIZE}),
    "4.2 headers above what we take": (frame(HEADERS, 4, 1, bytes(FRAME + 1)), {SIZE}),
    "4.3 a block that cannot be read": (  # h2's word; the page's is COMPRESSION_ERROR
        frame(HEADERS, 4, 1, b"\xff\xff\xff\xff\xff"), {PROTOCOL}),
    "4.3 something between the parts of a block": (
        frame(HEADERS, 0, 1, block()) + frame(PING, 0, 0, bytes(8)), {PROTOCOL}),
    "4.3 a block that goes on and on": (
        frame(HEADERS, 0, 1, bytes(10_000)) + frame(CONTINUATION, 0, 1, bytes(10_000)),
        {Code.ENHANCE_YOUR_CALM}),
    "4.3 another call's block between": (frame(HEADERS, 0, 1, block()) + call(3), {PROTOCOL}),
    "5.1 data on a stream that was never opened": (frame(DATA, 0, 1, b"x"), {PROTOCOL}),
    "5.1 a reset of such a stream": (frame(RST, 0, 1, bytes(4)), {PROTOCOL}),
    "5.1 room for such a stream": (window(1, 100), {PROTOCOL}),
    "5.1 the rest of a block of such a stream": (frame(CONTINUATION, 4, 1, block()), {PROTOCOL}),
    "5.1.1 an even number": (call(2), {PROTOCOL}),
    "5.1.1 a number below another": (call(5) + call(3), {PROTOCOL, CLOSED}),
    "6.1 data of no stream": (frame(DATA, 0, 0, b"x"), {PROTOCOL}),
    "6.1 padding longer than the data": (
        call(1) + frame(DATA, PADDED, 1, b"\x05abc"), {PROTOCOL}),
    "6.2 headers of no stream": (frame(HEADERS, 4, 0, block()), {PROTOCOL}),
    "6.2 padding longer than the headers": (frame(HEADERS, 4 | PADDED, 1, b"\xffabc"), {PROTOCOL}),
    "6.3 priority of no stream": (frame(PRIORITY, 0, 0, bytes(5)), {PROTOCOL}),
    "6.4 a reset of no stream": (call(1) + frame(RST, 0, 0, bytes(4)), {PROTOCOL}),
    "6.4 a reset of three bytes": (call(1) + frame(RST, 0, 1, bytes(3)), {SIZE}),
    "6.5 an acknowledgement with a payload": (  # h2's word; the page's is FRAME_SIZE_ERROR
        frame(SETTINGS, ACK, 0, bytes(6)), {PROTOCOL}),
    "6.5 settings of a stream": (frame(SETTINGS, 0, 1, bytes(6)), {PROTOCOL}),
    "6.5 settings of five bytes": (frame(SETTINGS, 0, 0, bytes(5)), {SIZE}),
    "6.5.2 a push that is neither on nor off": (setting((2, 2)), {PROTOCOL}),
    "6.5.2 a window above 2^31-1": (setting((4, 2**31)), {FLOW}),
    "6.5.2 a frame size below 2^14": (setting((5, 2**14 - 1)), {PROTOCOL}),
    "6.5.2 a frame size above 2^24-1": (setting((5, 2**24)), {PROTOCOL}),
    "6.6 a push by a client": (
        call(1) + frame(PUSH, 4, 1, (2).to_bytes(4, "big") + block()), {PROTOCOL}),
    "6.7 a ping of a stream": (frame(PING, 0, 1, bytes(8)), {PROTOCOL}),
    "6.7 a ping of six bytes": (frame(PING, 0, 0, bytes(6)), {SIZE}),
    "6.8 a goaway of a stream": (frame(GOAWAY, 0, 1, bytes(8)), {PROTOCOL}),
    "6.9 no room more for the connection": (window(0, 0), {PROTOCOL}),
    "6.9 room in three bytes": (frame(WINDOW, 0, 0, bytes(3)), {SIZE}),
    "6.9.1 a window of the connection above 2^31-1": (window(0, BIGGEST), {FLOW}),
    "6.9.2 a window of a call above 2^31-1 by a setting": (
        call(1) + window(1, BIGGEST - 65_535) + setting((4, 65_536)), {FLOW}),
    "6.10 the rest of a block that was whole": (
        call(1) + frame(CONTINUATION, 4, 1, block()), {PROTOCOL}),
    "6.10 the rest of a block, of no stream": (
        frame(HEADERS, 0, 1, block()) + frame(CONTINUATION, 4, 0, b""), {PROTOCOL}),
}  # fmt: skip


@pytest.mark.limit("transports/grpc_http2.FRAME")
@pytest.mark.limit("transports/grpc_http2.HEADERS")
@pytest.mark.parametrize("name", ENDED)
async def test_what_ends_the_connection(name: str) -> None:
    data, codes = ENDED[name]
    end, code = said(data)
    assert end == "ended"
    assert code in codes


CUT: dict[str, tuple[bytes, set[Code]]] = {
    "5.1 data behind the end of a call's": (
        call(1, END_HEADERS | END_STREAM) + frame(DATA, 0, 1, b"x"), {CLOSED}),
    "6.9 no room more for a call": (call(1) + window(1, 0), {PROTOCOL}),
    "6.9.1 a window of a call above 2^31-1": (call(1) + window(1, BIGGEST), {FLOW}),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
async def test_what_cuts_a_call_or_more(name: str) -> None:
    """HTTP/2 asks for the end of the call only, and allows that of the connection."""
    data, codes = CUT[name]
    end, code = said(data)
    assert end in ("reset", "ended")
    assert code in codes


def headers(*pairs: tuple[str, str]) -> bytes:
    return frame(HEADERS, END_HEADERS, 1, fields(*pairs))


WHOLE = ((":method", "POST"), (":scheme", "http"), (":path", TALK), (":authority", "x"))

MALFORMED: dict[str, bytes] = {
    "8.2.1 a name in upper case": headers(*WHOLE, ("X-Test", "1")),
    "8.2.2 a header of a connection": headers(*WHOLE, ("connection", "keep-alive")),
    "8.2.2 a transfer encoding": headers(*WHOLE, ("transfer-encoding", "chunked")),
    "8.2.2 other te than trailers": headers(*WHOLE, ("te", "trailers, deflate")),
    "8.3 an unknown pseudo-header": headers(*WHOLE, (":test", "1")),
    "8.3 one of answers": headers(*WHOLE, (":status", "200")),
    "8.3 one behind a regular header": headers(*WHOLE[1:], ("x-test", "1"), WHOLE[0]),
    "8.3.1 no method": headers(*WHOLE[1:]),
    "8.3.1 no scheme": headers(WHOLE[0], *WHOLE[2:]),
    "8.3.1 no path": headers(*WHOLE[:2], WHOLE[3]),
    "8.3.1 an empty path": headers(*WHOLE[:2], (":path", "")),
    "8.3.1 two methods": headers(WHOLE[0], *WHOLE),
    "8.3.1 two paths": headers(WHOLE[2], *WHOLE),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_no_request_is_cut(name: str) -> None:
    assert said(MALFORMED[name]) == ("reset", PROTOCOL)


@pytest.mark.parametrize("length", ["1", "6"])
async def test_8_1_1_a_body_of_another_length_than_was_said_ends_the_connection(
    length: str,
) -> None:
    """Whether it comes with the head or behind it. h2's word; the page's is a reset."""
    head = frame(HEADERS, END_HEADERS, 1, block(**{"content-length": length}))
    body = frame(DATA, END_STREAM, 1, bytes(5))
    assert said(head + body) == ("ended", PROTOCOL)
    assert said(head, body) == ("ended", PROTOCOL)


FINE: dict[str, bytes] = {
    "4.1 a frame of an unknown type": frame(0xF0, 0xFF, 1, b"whatever"),
    "4.1 flags that mean nothing": frame(PING, 0x16, 0, bytes(8)),
    "4.1 the reserved bit of a stream's number": frame(PING, 0, 1 << 31, bytes(8)),
    "4.3 a block in parts": frame(HEADERS, 0, 1, block()[:5])
    + frame(CONTINUATION, 0, 1, block()[5:9])
    + frame(CONTINUATION, 4, 1, block()[9:]),
    "5.1 priority of a stream that was never opened": frame(PRIORITY, 0, 7, bytes(4) + b"\x10"),
    "5.1 room and priority for a call whose client has said all": call(1, END_HEADERS | END_STREAM)
    + window(1, 10)
    + frame(PRIORITY, 0, 1, bytes(4) + b"\x10"),
    "5.1 numbers that leave some out": call(1) + call(9) + call(77),
    "5.5 an unknown frame between two of a call": call(1)
    + frame(0x42, 0, 1, b"x")
    + frame(DATA, 0, 1, b""),
    "6.1 data that is all padding": call(1) + frame(DATA, PADDED, 1, b"\x03\0\0\0"),
    "6.2 headers with padding and priority": frame(
        HEADERS,
        END_HEADERS | PADDED | PRIORITIZED,
        1,
        b"\x02" + bytes(4) + b"\x10" + block() + bytes(2),
    ),
    "6.4 a call that its client cuts": call(1) + frame(RST, 0, 1, (8).to_bytes(4, "big")),
    "6.4 room for a call that is cut": call(1)
    + frame(RST, 0, 1, (8).to_bytes(4, "big"))
    + window(1, 10),
    "6.5.2 a setting that nobody knows": setting((0x99, 7)),
    "6.5.3 one setting twice": setting((4, 100), (4, 200)),
    "6.7 an answer to no ping": frame(PING, ACK, 0, bytes(8)),
    "6.8 a client that goes": frame(GOAWAY, 0, 0, bytes(8) + b"so long"),
    "6.9 room for the connection": window(0, 1000),
    "6.9.2 windows below nought": call(1) + setting((4, 0)) + setting((4, 65_535)),
    "8.1 trailers of a client": call(1)
    + frame(HEADERS, END_HEADERS | END_STREAM, 1, fields(("x-last", "1"))),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
@pytest.mark.parametrize("step", [1 << 20, 1], ids=["at once", "bytewise"])
async def test_what_goes_on(name: str, step: int) -> None:
    data = FINE[name]
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    assert said(*pieces) == ("goes on", None)


async def test_settings_are_acknowledged_each() -> None:
    connection, wire = served_by(talking())
    connection.data_received(setting((4, 1)) + setting((3, 5)))
    acks = [each for each in wire.frames() if isinstance(each, SettingsFrame)]
    assert ["ACK" in each.flags for each in acks] == [True, True]


async def test_room_is_what_settings_and_windows_leave() -> None:
    """6.5.3, 6.9.1, 6.9.2: the last of a setting's values counts, for calls that were begun before
    it, too; and a smaller window for what was sent under the larger one."""
    connection, _ = served_by(talking())
    connection.data_received(setting((4, 100), (4, 1)) + call(1))
    assert connection.room(1) == 1
    connection.data_received(setting((4, 1000)))
    assert connection.room(1) == 1000
    connection.h2.send_headers(1, [(":status", "200")])
    connection.send_data(1, bytes(900))
    connection.data_received(setting((4, 500)))
    assert connection.room(1) <= 0
    connection.data_received(window(1, 400))
    assert connection.room(1) == 0
    connection.data_received(window(1, 7))
    assert connection.room(1) == 7


async def test_a_call_above_our_bound_is_refused_and_the_others_are_not() -> None:
    """Calls that were cut still count while their handlers run; h2 does not know of those."""
    connection, wire = served_by(talking())
    connection.data_received(b"".join(call(2 * each + 1) for each in range(3)))
    connection.running = CALLS
    connection.data_received(call(7))
    assert len(connection.calls) == 3
    cut = [each for each in wire.frames() if isinstance(each, RstStreamFrame)]
    assert [(each.stream_id, each.error_code) for each in cut] == [(7, Code.REFUSED_STREAM)]


async def test_of_more_calls_at_once_than_were_announced_the_last_are_refused() -> None:
    """RFC 9113, 5.1.2. Clients that begin many calls at once on a new connection do that."""
    connection, wire = served_by(talking())
    connection.data_received(b"".join(call(2 * each + 1) for each in range(CALLS + 3)))
    cut = [each for each in wire.frames() if isinstance(each, RstStreamFrame)]
    assert [each.stream_id for each in cut] == [2 * CALLS + 1, 2 * CALLS + 3, 2 * CALLS + 5]
    assert {each.error_code for each in cut} == {Code.REFUSED_STREAM}
    assert len(connection.calls) == CALLS
    assert not connection.lost.is_set()


@pytest.mark.limit("transports/grpc_http2.HEADERS")
@pytest.mark.parametrize(("size", "taken"), [(15_000, True), (17_000, False)])
async def test_i9_so_many_bytes_of_headers_are_taken(size: int, taken: bool) -> None:
    """RFC 9113, 10.5.1."""
    whole = headers(*WHOLE, *((f"x-{each}", "v" * 960) for each in range(size // 1000)))
    assert (said(whole)[0] != "ended") is taken
