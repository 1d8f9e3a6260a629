"""What HTTP/2 says of each frame, case by case, to a client of ours that has a call: RFC 9113, by
whose sections the names of the cases begin. Bytes in, bytes out; no loop, no socket."""

from __future__ import annotations

import pytest
from h2.errors import ErrorCodes as Code
from hyperframe.frame import (
    DataFrame,
    HeadersFrame,
    PingFrame,
    SettingsFrame,
)

from fleetgate.transports.api import GrpcOptions, Opening
from fleetgate.transports.grpc_client import ClientConnection
from fleetgate.transports.grpc_ends import DialledLink
from fleetgate.transports.grpc_http2 import FRAME, STREAM_WINDOW
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
from fleetgate.transports.grpc_metadata import request
from fleetgate.transports.grpc_testing import TALK, talking

HEAD = ((":status", "200"), ("content-type", "application/grpc"))
TAIL = ("grpc-status", "0")


def dialled(*settings: tuple[int, int]) -> tuple[ClientConnection, Wire]:
    """A client behind the handshake with a server of these settings."""
    connection, wire = ClientConnection("peer"), Wire()
    connection.connection_made(wire)
    connection.data_received(setting(*settings))
    wire.written = b""
    return connection, wire


def call(connection: ClientConnection) -> DialledLink:
    """Its call, stream 1."""
    options = talking()
    use = options.grpc or GrpcOptions()
    opening = Opening("peer", TALK)
    link = DialledLink(connection, connection.next_id(), use.calls[TALK], opening, options, use)
    connection.begin(link, request("peer", TALK, "http", {}))
    return link


def said(*inputs: bytes) -> tuple[str, Code | None]:
    """What a client makes of these bytes, as `made_of` has it."""
    connection, wire = dialled()
    call(connection)
    return made_of(connection, wire, *inputs)


def head(*more: tuple[str, str], flags: int = END_HEADERS) -> bytes:
    return frame(HEADERS, flags, 1, fields(*HEAD, *more))


PROTOCOL, SIZE, FLOW = Code.PROTOCOL_ERROR, Code.FRAME_SIZE_ERROR, Code.FLOW_CONTROL_ERROR
CLOSED, CALM = Code.STREAM_CLOSED, Code.ENHANCE_YOUR_CALM

ENDED: dict[str, tuple[bytes, set[Code]]] = {
    "4.2 a frame above what we take": (head() + frame(DATA, 0, 1, bytes(FRAME + 1)), {SIZE}),
    "4.2 headers above what we take": (frame(HEADERS, 4, 1, bytes(FRAME + 1)), {SIZE}),
    "4.3 a block that cannot be read": (  # h2's word; the page's is COMPRESSION_ERROR
        frame(HEADERS, 4, 1, b"\xff\xff\xff\xff\xff"), {PROTOCOL}),
    "4.3 something between the parts of a block": (
        head(flags=0) + frame(PING, 0, 0, bytes(8)), {PROTOCOL}),
    "5.1 data of a call that was never made": (frame(DATA, 0, 3, b"x"), {PROTOCOL}),
    "5.1 an answer to such a call": (frame(HEADERS, 4, 3, fields(*HEAD)), {PROTOCOL}),
    "5.1 a reset of such a call": (frame(RST, 0, 3, bytes(4)), {PROTOCOL}),
    "5.1 room for such a call": (window(3, 100), {PROTOCOL}),
    "5.1.1 a call by a server": (frame(HEADERS, 4, 2, fields(*HEAD)), {PROTOCOL}),
    "6.1 data of no stream": (frame(DATA, 0, 0, b"x"), {PROTOCOL}),
    "6.1 padding longer than the data": (
        head() + frame(DATA, PADDED, 1, b"\x05abc"), {PROTOCOL}),
    "6.2 headers of no stream": (frame(HEADERS, 4, 0, fields(*HEAD)), {PROTOCOL}),
    "6.3 priority of no stream": (frame(PRIORITY, 0, 0, bytes(5)), {PROTOCOL}),
    "6.4 a reset of no stream": (frame(RST, 0, 0, bytes(4)), {PROTOCOL}),
    "6.4 a reset of three bytes": (frame(RST, 0, 1, bytes(3)), {SIZE}),
    "6.5 an acknowledgement with a payload": (  # h2's word; the page's is FRAME_SIZE_ERROR
        frame(SETTINGS, ACK, 0, bytes(6)), {PROTOCOL}),
    "6.5 settings of a stream": (frame(SETTINGS, 0, 1, bytes(6)), {PROTOCOL}),
    "6.5 settings of five bytes": (frame(SETTINGS, 0, 0, bytes(5)), {SIZE}),
    "6.5.2 pushes of a server": (setting((2, 1)), {PROTOCOL}),
    "6.5.2 a window above 2^31-1": (setting((4, 2**31)), {FLOW}),
    "6.5.2 a frame size below 2^14": (setting((5, 2**14 - 1)), {PROTOCOL}),
    "6.5.2 a frame size above 2^24-1": (setting((5, 2**24)), {PROTOCOL}),
    "6.5.2 headers above what we take": (
        frame(HEADERS, 4, 1, fields(*HEAD, ("x-long", "x" * 20_000))), {CALM}),
    "6.6 a push, though we take none": (
        frame(PUSH, 4, 1, (2).to_bytes(4, "big") + fields((":method", "GET"))), {PROTOCOL}),
    "6.7 a ping of a stream": (frame(PING, 0, 1, bytes(8)), {PROTOCOL}),
    "6.7 a ping of six bytes": (frame(PING, 0, 0, bytes(6)), {SIZE}),
    "6.8 a goaway of a stream": (frame(GOAWAY, 0, 1, bytes(8)), {PROTOCOL}),
    "6.9 no room more for the connection": (window(0, 0), {PROTOCOL}),
    "6.9 room in three bytes": (frame(WINDOW, 0, 0, bytes(3)), {SIZE}),
    "6.9.1 more data than the call's window": (
        head() + frame(DATA, 0, 1, bytes(FRAME)) * (STREAM_WINDOW // FRAME + 1), {FLOW}),
    "6.9.1 a window of the connection above 2^31-1": (window(0, BIGGEST), {FLOW}),
    "6.9.2 a window of a call above 2^31-1 by a setting": (
        window(1, BIGGEST - 65_535) + setting((4, 65_536)), {FLOW}),
    "6.10 the rest of a block that was whole": (
        head() + frame(CONTINUATION, 4, 1, fields(*HEAD)), {PROTOCOL}),
    "8.1 data before the head of an answer": (frame(DATA, 0, 1, b"x"), {PROTOCOL}),
    "8.1 trailers that do not end the answer": (
        head() + frame(HEADERS, END_HEADERS, 1, fields(TAIL)), {PROTOCOL}),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDED)
async def test_what_ends_the_connection(name: str) -> None:
    data, codes = ENDED[name]
    end, code = said(data)
    assert end == "ended"
    assert code in codes


CUT: dict[str, tuple[bytes, set[Code]]] = {
    "5.1 data behind the end of an answer": (
        head(flags=END_HEADERS | END_STREAM) + frame(DATA, 0, 1, b"x"), {CLOSED}),
    "6.9 no room more for a call": (window(1, 0), {PROTOCOL}),
    "6.9.1 a window of a call above 2^31-1": (window(1, BIGGEST), {FLOW}),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
async def test_what_cuts_the_call_or_more(name: str) -> None:
    """HTTP/2 asks for the end of the call only, and allows that of the connection."""
    data, codes = CUT[name]
    end, code = said(data)
    assert end in ("reset", "ended")
    assert code in codes


def answer(*pairs: tuple[str, str]) -> bytes:
    return frame(HEADERS, END_HEADERS, 1, fields(*pairs))


MALFORMED: dict[str, bytes] = {
    "8.2.1 a name in upper case": answer(*HEAD, ("X-Test", "1")),
    "8.2.2 a header of a connection": answer(*HEAD, ("connection", "keep-alive")),
    "8.2.2 a transfer encoding": answer(*HEAD, ("transfer-encoding", "chunked")),
    "8.3 an unknown pseudo-header": answer(*HEAD, (":test", "1")),
    "8.3 one of requests": answer(*HEAD, (":path", "/")),
    "8.3 one behind a regular header": answer(HEAD[1], HEAD[0]),
    "8.3 one in trailers": head()
    + frame(HEADERS, END_HEADERS | END_STREAM, 1, fields((":status", "200"), TAIL)),
    "8.3.2 no status": answer(HEAD[1]),
    "8.3.2 two": answer(HEAD[0], *HEAD),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_no_answer_is_cut(name: str) -> None:
    assert said(MALFORMED[name]) == ("reset", PROTOCOL)


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_call_without_an_answer_has_failed(name: str) -> None:
    connection, _ = dialled()
    link = call(connection)
    connection.data_received(MALFORMED[name])
    assert link.end is not None
    assert link.end.code == 13


FINE: dict[str, bytes] = {
    "4.1 a frame of an unknown type": frame(0xF0, 0xFF, 1, b"whatever"),
    "4.1 flags that mean nothing": frame(PING, 0x16, 0, bytes(8)),
    "4.1 the reserved bit of a stream's number": frame(PING, 0, 1 << 31, bytes(8)),
    "4.3 a block in parts": frame(HEADERS, 0, 1, fields(*HEAD)[:5])
    + frame(CONTINUATION, 0, 1, fields(*HEAD)[5:9])
    + frame(CONTINUATION, 4, 1, fields(*HEAD)[9:]),
    "5.5 an unknown frame between two of an answer": head()
    + frame(0x42, 0, 1, b"x")
    + frame(DATA, 0, 1, b""),
    "6.1 data that is all padding": head() + frame(DATA, PADDED, 1, b"\x03\0\0\0"),
    "6.2 headers with padding and priority": frame(
        HEADERS,
        END_HEADERS | PADDED | PRIORITIZED,
        1,
        b"\x02" + bytes(4) + b"\x10" + fields(*HEAD) + bytes(2),
    ),
    "6.3 priority of a stream that was never opened": frame(PRIORITY, 0, 7, bytes(4) + b"\x10"),
    "6.5.2 a setting that nobody knows": setting((0x99, 7)),
    "6.5.2 no pushes": setting((2, 0)),
    "6.5.2 a smaller table of names": setting((1, 0)),
    "6.5.2 no further calls": setting((3, 0)),
    "6.5.3 one setting twice": setting((4, 100), (4, 200)),
    "6.7 an answer to no ping": frame(PING, ACK, 0, bytes(8)),
    "6.8 a server that takes no more, and this call": frame(GOAWAY, 0, 0, b"\0\0\0\1" + bytes(4)),
    "6.9 room for the connection": window(0, 1000),
    "6.9.2 windows below nought": setting((4, 0)) + setting((4, 65_535)),
    "8.1 two heads that say wait": frame(HEADERS, END_HEADERS, 1, fields((":status", "100"))) * 2
    + head(),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
@pytest.mark.parametrize("step", [1 << 20, 1], ids=["at once", "bytewise"])
async def test_what_goes_on(name: str, step: int) -> None:
    data = FINE[name]
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    assert said(*pieces) == ("goes on", None)


async def test_settings_are_acknowledged_each() -> None:
    connection, wire = dialled()
    connection.data_received(setting((4, 1)) + setting((3, 5)))
    acks = [each for each in wire.frames() if isinstance(each, SettingsFrame)]
    assert ["ACK" in each.flags for each in acks] == [True, True]


async def test_a_ping_is_answered_with_what_it_held() -> None:
    connection, wire = dialled()
    connection.data_received(frame(PING, 0, 0, b"12345678"))
    (pong,) = wire.frames()
    assert isinstance(pong, PingFrame)
    assert (pong.opaque_data, list(pong.flags)) == (b"12345678", ["ACK"])


async def test_a_server_that_takes_no_call_at_all_is_told_by_the_dial() -> None:
    """6.5.2: it has said so before there was one; the call must not wait for ever."""
    connection, wire = dialled((3, 0))
    link = call(connection)
    assert not [each for each in wire.frames() if isinstance(each, HeadersFrame)]
    assert link.end is not None
    assert link.end.code == 14


async def test_frames_are_as_long_as_the_server_takes_them() -> None:
    for size in (2**14, 2**14 + 1, 2**24 - 1):
        connection, wire = dialled((5, size))
        link = call(connection)
        connection.send_data(link.id, bytes(40_000))
        lengths = [len(each.data) for each in wire.frames() if isinstance(each, DataFrame)]
        assert sum(lengths) == 40_000
        assert max(lengths) == min(size, 40_000)


async def test_room_is_what_settings_and_windows_leave() -> None:
    """6.9.2: a smaller window counts for what was sent under the larger one, too."""
    connection, _ = dialled((4, 1000))
    link = call(connection)
    assert connection.room(link.id) == 1000
    connection.send_data(link.id, bytes(900))
    connection.data_received(setting((4, 500)))
    assert connection.room(link.id) <= 0
    connection.data_received(window(1, 400))
    assert connection.room(link.id) == 0
    connection.data_received(window(1, 7))
    assert connection.room(link.id) == 7


async def test_an_answer_of_trailers_only() -> None:
    connection, _ = dialled()
    link = call(connection)
    connection.data_received(head(("grpc-status", "5"), flags=END_HEADERS | END_STREAM))
    assert link.end is not None
    assert link.end.code == 5


async def test_a_goaway_below_the_call() -> None:
    connection, _ = dialled()
    link = call(connection)
    connection.data_received(frame(GOAWAY, 0, 0, bytes(8)))
    assert link.end is not None
    assert link.end.code == 14
