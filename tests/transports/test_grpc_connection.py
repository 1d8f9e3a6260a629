"""A connection between a transport that only takes notes, and h2 as it is. No loop, no socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, StreamReset
from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame

from fleetgate.transports.grpc_call import Call
from fleetgate.transports.grpc_connection import (
    PREFACE,
    UNSENT,
    WRONG_VERSION,
    GrpcConnection,
)
from fleetgate.transports.grpc_http2 import CONNECTION_WINDOW
from fleetgate.transports.stream import CHUNK

HEAD = [(":method", "POST"), (":path", "/a.B/C"), (":scheme", "http"), (":authority", "x")]


class Notes(asyncio.Transport):
    """Takes what is written; `stuck`: as if the peer did not read."""

    def __init__(self) -> None:
        super().__init__({"peercert": {"subject": ()}})
        self.written = b""
        self.size = 0
        self.stuck = False
        self.closed = ""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.limits = high, low

    def write(self, data: Any) -> None:
        self.written += data
        if self.stuck:
            self.size += len(data)

    def get_write_buffer_size(self) -> int:
        return self.size

    def is_closing(self) -> bool:
        return bool(self.closed)

    def close(self) -> None:
        self.closed = self.closed or "close"

    def abort(self) -> None:
        self.closed = "abort"


class Plain(Call):
    """A call that takes notes."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.told: list[Any] = []

    def on_headers(self, headers: dict[str, str], last: bool) -> None:
        self.told.append((headers, last))

    def on_data(self, data: bytes, size: int) -> None:
        self.told.append(data)

    def on_end(self) -> None:
        self.told.append("end")

    def on_reset(self, error: int) -> None:
        self.told.append(error)

    def on_malformed(self) -> None:
        self.told.append("malformed")

    def on_lost(self, reason: str) -> None:
        self.told.append(reason)

    def on_room(self) -> None:
        self.told.append("room")


class Server(GrpcConnection):
    """Every request is a call."""

    def __init__(self) -> None:
        super().__init__(client=False)
        self.made: dict[int, Plain] = {}
        self.pings = 0
        self.emptied = 0

    def on_request(self, stream_id: int, headers: dict[str, str]) -> None:
        self.calls[stream_id] = self.made[stream_id] = Plain(stream_id)

    def on_ping(self) -> None:
        self.pings += 1

    def on_empty(self) -> None:
        self.emptied += 1


class Ends:
    """A server of ours and a client."""

    def __init__(self, connection: GrpcConnection | None = None) -> None:
        self.server = Server() if connection is None else connection
        self.notes = Notes()
        self.client = H2Connection(H2Configuration(client_side=True))
        self.server.connection_made(self.notes)
        self.client.initiate_connection()
        self.settle()

    def settle(self) -> list[Event]:
        """Carry all that is to be carried; what the client sees."""
        seen: list[Event] = []
        while True:
            there, self.notes.written = self.notes.written, b""
            here = self.client.data_to_send()
            if not here and not there:
                return seen
            seen += self.client.receive_data(there)
            self.server.data_received(here)


@pytest.fixture
def ends() -> Ends:
    return Ends()


def call_of(ends: Ends, number: int = 1) -> Plain:
    ends.client.send_headers(number, HEAD)
    ends.settle()
    assert isinstance(ends.server, Server)
    return ends.server.made[number]


def test_it_is_ready_once_the_peer_has_shown_itself(ends: Ends) -> None:
    assert ends.server.ready.is_set()
    assert not Server().ready.is_set()
    assert ends.server.certificate == {"subject": ()}
    assert ends.client.outbound_flow_control_window == CONNECTION_WINDOW


def test_a_preface_may_come_in_pieces() -> None:
    server, notes = Server(), Notes()
    server.connection_made(notes)
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    for byte in client.data_to_send():
        server.data_received(bytes([byte]))
    assert server.ready.is_set()


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00", PREFACE[:10] + b"XX"]
)
def test_what_is_not_http2_is_ended_at_once(data: bytes) -> None:
    server, notes = Server(), Notes()
    server.connection_made(notes)
    server.data_received(data)
    assert notes.closed == "close"
    assert server.lost.is_set()
    assert server.why == "the peer does not speak HTTP/2"
    assert notes.written == (WRONG_VERSION if b"HTTP/1" in data else b"")
    assert WRONG_VERSION.endswith(b"\r\n\r\nthis port speaks gRPC, over HTTP/2\n")
    assert len(WRONG_VERSION.partition(b"\r\n\r\n")[2]) == 35


def test_broken_rules_end_the_connection_with_a_goaway(ends: Ends) -> None:
    call = call_of(ends)
    ends.server.data_received(b"\0\0\x04\x08\0\0\0\0\0\0\0\0\0")  # a window opened by nothing
    (event,) = ends.settle()
    assert isinstance(event, ConnectionTerminated)
    assert event.error_code == ErrorCodes.PROTOCOL_ERROR
    assert ends.notes.closed == "close"
    assert call.told == ["the peer broke the rules of HTTP/2: ProtocolError"]
    ends.server.data_received(b"more")
    assert call.told[1:] == []


def test_our_own_fault_ends_the_connection_and_nothing_else(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(ends.server, "on_request", fail)
    ends.client.send_headers(1, HEAD)
    ends.settle()
    assert ends.notes.closed == "abort"
    assert ends.server.why == "the connection failed: RuntimeError"


def test_a_call_is_told_what_happens_to_it(ends: Ends) -> None:
    call = call_of(ends)
    ends.client.send_data(1, b"data")
    ends.client.end_stream(1)
    ends.settle()
    assert call.told == [b"data", b"", "end"]


def test_fault_9_a_call_is_told_that_it_is_cut_or_lost(ends: Ends) -> None:
    first, second = call_of(ends, 1), call_of(ends, 3)
    ends.client.reset_stream(1, ErrorCodes.CANCEL)
    ends.settle()
    assert first.told == [int(ErrorCodes.CANCEL)]
    assert list(ends.server.calls) == [3]
    ends.server.connection_lost(ConnectionResetError(104, "Connection reset by peer"))
    assert second.told == ["the connection was lost: Connection reset by peer"]
    assert ends.server.calls == {}


def test_what_lies_in_a_call_does_not_shut_the_connection(ends: Ends) -> None:
    call_of(ends)
    sent = 0
    while room := ends.client.local_flow_control_window(1):
        size = min(room, 16384)
        ends.client.send_data(1, bytes(size))
        sent += size
        ends.settle()
    assert sent == 512 * 1024
    assert ends.client.outbound_flow_control_window > CONNECTION_WINDOW * 3 // 4


def test_the_window_is_whole_again_when_no_call_is_left(ends: Ends) -> None:
    for number in range(1, 101, 2):
        call = call_of(ends, number)
        ends.client.send_data(number, bytes(10_000))
        ends.settle()
        if number % 4 == 1:
            ends.client.reset_stream(number)
        else:
            ends.server.reset(number, 8)
            ends.server.forget(call)
            ends.settle()
    ends.settle()
    assert ends.server.calls == {}
    assert ends.client.outbound_flow_control_window == CONNECTION_WINDOW


def test_sending_takes_what_window_and_transport_take(ends: Ends) -> None:
    call = call_of(ends)
    server = ends.server
    assert server.room(1) == 65535
    server.send_data(1, bytes(65535), head=[(":status", "200")])
    assert server.room(1) == 0
    server.waiting.add(call)
    ends.client.increment_flow_control_window(CHUNK * 2, 1)
    ends.settle()
    assert server.room(1) == 0
    ends.client.increment_flow_control_window(CHUNK * 2)
    ends.settle()
    assert call.told == ["room", "room"]
    assert server.room(1) == CHUNK
    server.pause_writing()
    assert server.room(1) == 0
    assert not server.drained
    server.resume_writing()
    assert server.room(1) == CHUNK


def test_a_call_that_is_over_is_no_matter_for_errors(ends: Ends) -> None:
    call = call_of(ends)
    ends.client.reset_stream(1)
    ends.settle()
    server = ends.server
    for _ in range(2):
        server.send_headers(1, [(":status", "200")])
        server.send_data(1, b"x")
        server.end_stream(1)
        server.reset(1, 0)
        server.give_back(1, 10)
        server.forget(call)
        call_of(ends, 3) if 3 not in ends.client.streams else None
    assert not server.lost.is_set()


@pytest.mark.limit("transports/grpc_connection.UNSENT")
def test_whoever_asks_and_does_not_listen_is_dropped(ends: Ends) -> None:
    ends.notes.stuck = True
    ping = b"\0\0\x08\x06\0\0\0\0\0" + b"12345678"
    for _ in range(UNSENT // len(ping) // 1000 + 1):
        assert not ends.server.lost.is_set()
        ends.server.data_received(ping * 1000)
    assert ends.notes.closed == "abort"
    assert ends.server.why == "the peer asks and asks, and takes no answer"


def test_a_ping_is_answered_and_told(ends: Ends) -> None:
    assert isinstance(ends.server, Server)
    ends.client.ping(b"12345678")
    ends.settle()
    assert ends.server.pings == 1
    answered = ends.server.ping(b"abcdefgh")
    assert not answered.is_set()
    ends.settle()
    assert answered.is_set()


def test_a_retired_connection_ends_its_calls_in_peace(ends: Ends) -> None:
    call = call_of(ends)
    ends.server.retire()
    ends.server.retire()
    ends.client.send_data(1, b"more")
    ends.server.data_received(ends.client.data_to_send())
    ends.server.send_headers(1, [(":status", "200")], last=True)
    goaway, head = frames(ends.notes.written)
    assert isinstance(goaway, GoAwayFrame)
    assert (goaway.last_stream_id, goaway.error_code) == (1, 0)
    assert isinstance(head, HeadersFrame)
    assert call.told == [b"more"]


def frames(data: bytes) -> list[Frame]:
    """h2 holds a connection for over with a GOAWAY, so it is read without."""
    found: list[Frame] = []
    while data:
        frame, size = Frame.parse_frame_header(memoryview(data[:9]))
        frame.parse_body(memoryview(data[9 : 9 + size]))
        found.append(frame)
        data = data[9 + size :]
    return found


def test_its_end_is_told_once(ends: Ends) -> None:
    call = call_of(ends)
    ends.server.end("the first")
    ends.server.fail("the second")
    ends.server.connection_lost(None)
    assert call.told == ["the first"]
    assert ends.server.why == "the first"
    assert ends.server.gone.is_set()
    assert ends.server.room(1) == 0


def test_a_cut_is_a_cut(ends: Ends) -> None:
    call = call_of(ends)
    ends.server.reset(1, int(ErrorCodes.CANCEL))
    ends.server.forget(call)
    (event,) = ends.settle()
    assert isinstance(event, StreamReset)
    assert isinstance(ends.server, Server)
    assert ends.server.emptied == 1
