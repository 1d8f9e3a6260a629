"""What HTTP/2 says of each frame, case by case, to a server of ours: RFC 9113, whose sections the
names of the cases begin with. Bytes in, bytes out; no loop, no socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from h2.errors import ErrorCodes as Code
from hpack import Encoder
from hyperframe.frame import Frame, GoAwayFrame, PingFrame, RstStreamFrame, SettingsFrame

from fleetgate.transports.api import Options
from fleetgate.transports.grpc_connection import PREFACE
from fleetgate.transports.grpc_http2 import CALLS, FRAME
from fleetgate.transports.grpc_server import ServerConnection, served
from fleetgate.transports.grpc_testing import TALK, talking

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED = 0x1, 0x1, 0x4, 0x8, 0x20

BIGGEST = 2**31 - 1


def frame(kind: int, flags: int, stream: int, payload: bytes = b"", length: int = -1) -> bytes:
    """One frame, right or wrong."""
    size = len(payload) if length < 0 else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def block(**more: str) -> bytes:
    """A call's headers, which leave the table of names alone."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": TALK,
        ":authority": "x",
        "content-type": "application/grpc",
        "te": "trailers",
        **more,
    }
    return Encoder().encode([(name, value, True) for name, value in fields.items()])


def call(stream: int, flags: int = END_HEADERS) -> bytes:
    return frame(HEADERS, flags, stream, block())


def setting(*pairs: tuple[int, int]) -> bytes:
    words = (name.to_bytes(2, "big") + value.to_bytes(4, "big") for name, value in pairs)
    return frame(SETTINGS, 0, 0, b"".join(words))


def window(stream: int, size: int) -> bytes:
    return frame(WINDOW, 0, stream, size.to_bytes(4, "big"))


class Wire(asyncio.Transport):
    """Takes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """It has none."""

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def frames(self) -> list[Frame]:
        """What was written, frame by frame."""
        found: list[Frame] = []
        rest = memoryview(self.written)
        while rest:
            made, size = Frame.parse_frame_header(rest[:9])
            made.parse_body(rest[9 : 9 + size])
            found.append(made)
            rest = rest[9 + size :]
        return found


def served_by(options: Options) -> tuple[ServerConnection, Wire]:
    """A connection whose calls run nowhere, behind its handshake."""
    connection = ServerConnection(
        "peer", options, served(options, {}), lambda _link, _route, _seconds: None, lambda _: False
    )
    wire = Wire()
    connection.connection_made(wire)
    connection.data_received(PREFACE + frame(SETTINGS, 0, 0))
    wire.written = b""
    return connection, wire


def said(*inputs: bytes) -> tuple[str, int | None]:
    """What a server makes of these bytes. ("goes on", None): it answers a ping behind them;
    ("reset", code): it does, and has cut a call; ("ended", code): it has closed the connection,
    behind a GOAWAY with this code."""
    connection, wire = served_by(talking())
    for each in inputs:
        connection.data_received(each)
    if not wire.closed:
        connection.data_received(frame(PING, 0, 0, b"are you "))
    frames = wire.frames()
    gone = [each for each in frames if isinstance(each, GoAwayFrame)]
    if gone or wire.closed:
        assert wire.closed
        return "ended", Code(gone[0].error_code) if gone else None
    pongs = [each for each in frames if isinstance(each, PingFrame) and "ACK" in each.flags]
    assert [each.opaque_data for each in pongs][-1:] == [b"are you "]
    cut = [each for each in frames if isinstance(each, RstStreamFrame)]
    return ("reset", Code(cut[0].error_code)) if cut else ("goes on", None)


PROTOCOL, SIZE, FLOW = Code.PROTOCOL_ERROR, Code.FRAME_SIZE_ERROR, Code.FLOW_CONTROL_ERROR
CLOSED = Code.STREAM_CLOSED

ENDED: dict[str, tuple[bytes, set[Code]]] = {
    "4.2 a frame above what we take": (call(1) + frame(DATA, 0, 1, bytes(FRAME + 1)), {SIZE}),
    "4.2 headers above what we take": (frame(HEADERS, 4, 1, bytes(FRAME + 1)), {SIZE}),
    "4.3 a block that cannot be read": (  # h2's word; the page's is COMPRESSION_ERROR
        frame(HEADERS, 4, 1, b"\xff\xff\xff\xff\xff"), {PROTOCOL}),
    "4.3 something between the parts of a block": (
        frame(HEADERS, 0, 1, block()) + frame(PING, 0, 0, bytes(8)), {PROTOCOL}),
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
    return frame(HEADERS, END_HEADERS, 1, Encoder().encode([(*pair, True) for pair in pairs]))


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


FINE: dict[str, bytes] = {
    "4.1 a frame of an unknown type": frame(0xF0, 0xFF, 1, b"whatever"),
    "4.1 flags that mean nothing": frame(PING, 0x16, 0, bytes(8)),
    "4.1 the reserved bit of a stream's number": frame(PING, 0, 1 << 31, bytes(8)),
    "4.3 a block in parts": frame(HEADERS, 0, 1, block()[:5])
    + frame(CONTINUATION, 0, 1, block()[5:9])
    + frame(CONTINUATION, 4, 1, block()[9:]),
    "5.1 priority of a stream that was never opened": frame(PRIORITY, 0, 7, bytes(4) + b"\x10"),
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
    + frame(HEADERS, END_HEADERS | END_STREAM, 1, Encoder().encode([("x-last", "1")])),
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
