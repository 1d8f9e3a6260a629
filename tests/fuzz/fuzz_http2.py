"""HTTP/2 under gRPC: bytes at a server's connection, and at a client's with a call under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final
from unittest import mock

import attrs
import trio
from fuzz_bytes import NUMBERS, mutate_bytes, some
from fuzz_engine import Target, demand
from fuzz_streams import pieces
from hpack import Encoder

from fleetgate.transports.api import Options
from fleetgate.transports.grpc_call import Call
from fleetgate.transports.grpc_connection import HELD, PREFACE, UNSENT, GrpcConnection
from fleetgate.transports.grpc_http2 import CALLS, CONNECTION_WINDOW
from fleetgate.transports.grpc_http2_testing import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PRIORITY,
    PUSH,
    RST,
    SETTINGS,
    WINDOW,
    Wire,
    frame,
)
from fleetgate.transports.grpc_messages import prefixed
from fleetgate.transports.grpc_server import ServerConnection, served
from fleetgate.transports.grpc_testing import ASK, TALK, talking


class Counting(Wire):
    """Counts what is written, and keeps none of it."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def write(self, data: Any) -> None:
        self.size += len(data)


def block(*fields: tuple[str, str]) -> bytes:
    """Headers."""
    return bytes(Encoder().encode(list(fields)))


def _head(path: str, *more: tuple[str, str]) -> bytes:
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x"}
    return block(*fields.items(), ("content-type", "application/grpc"), ("te", "trailers"), *more)


_OPEN: Final = frame(SETTINGS, 0, 0, b"\x00\x04\x00\x00\xff\xff") + frame(SETTINGS, 1, 0)
_CALL: Final = frame(HEADERS, END_HEADERS, 1, _head(TALK, ("grpc-timeout", "5S")))
_SAID: Final = frame(DATA, 0, 1, prefixed(b"hello"))
SERVED: Final = (
    _OPEN + _CALL + _SAID + frame(DATA, END_STREAM, 1, prefixed(b"bye")),
    _OPEN + frame(HEADERS, END_HEADERS | END_STREAM, 1, _head(ASK)) + frame(PING, 0, 0, bytes(8)),
    _OPEN + frame(HEADERS, 0, 1, _head(TALK)[:9]) + frame(CONTINUATION, 4, 1, _head(TALK)[9:]),
    _OPEN + _CALL + frame(RST, 0, 1, bytes(4)) + frame(WINDOW, 0, 0, b"\0\0\1\0") + _SAID,
    _OPEN + _CALL + frame(PRIORITY, 0, 1, bytes(5)) + frame(GOAWAY, 0, 0, bytes(8)) + _SAID,
    _OPEN + frame(HEADERS, END_HEADERS, 1, block((":method", "GET"), (":path", "/"))),
)
"""What a client says behind the preface."""

_ANSWER: Final = block((":status", "200"), ("content-type", "application/grpc"))
_TRAILER: Final = block(("grpc-status", "0"), ("grpc-message", "caf%C3%A9"))
ANSWERED: Final = (
    _OPEN + frame(HEADERS, END_HEADERS, 1, _ANSWER) + _SAID + frame(HEADERS, 5, 1, _TRAILER),
    _OPEN + frame(HEADERS, 5, 1, block((":status", "503"), ("retry-after", "1"))),
    _OPEN
    + frame(GOAWAY, 0, 0, bytes(4) + b"\0\0\0\x0btoo_many_pings")
    + frame(PING, 1, 0, bytes(8)),
    _OPEN + frame(PUSH, END_HEADERS, 1, b"\0\0\0\2" + _head(TALK)) + frame(RST, 0, 1, bytes(4)),
)
"""What a server says."""


# --- mutations


def _frames(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    at = 0
    while at + 9 <= len(data):
        size = int.from_bytes(data[at : at + 3], "big")
        stream = int.from_bytes(data[at + 5 : at + 9], "big")
        yield data[at + 3], data[at + 4], stream, data[at + 9 : at + 9 + size]
        at += 9 + size


def mutate_http2(draw: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Frames bent as frames, and sometimes as bytes. The first byte of all says in what pieces they
    come."""
    frames = list(_frames(data[1:]))
    for _ in range(some(draw)):
        at = draw.randrange(len(frames) + 1)
        match draw.randrange(6):
            case 0:
                frames.insert(at, _drawn(draw))
            case 1 if frames:
                frames += [draw.choice(frames)] * draw.choice((1, 2, 50, 400))
            case 2:
                del frames[at : at + 1]
            case 3:
                frames += list(_frames(draw.choice(seeds)[1:]))
            case _ if at < len(frames):
                frames[at] = _bent(draw, *frames[at])
            case _:
                draw.shuffle(frames)
    made = b"".join(frame(kind, flags, stream, body) for kind, flags, stream, body in frames)
    made = mutate_bytes(draw, made, seeds) if draw.random() < 0.2 else made
    return bytes([draw.randrange(256)]) + made


def _drawn(draw: Random) -> tuple[int, int, int, bytes]:
    number = draw.choice(NUMBERS) % (1 << 32)
    bodies = (b"", number.to_bytes(4, "big"), bytes(8), draw.randbytes(40), bytes(5), _head(TALK))
    settings = b"".join(
        draw.randrange(10).to_bytes(2, "big") + number.to_bytes(4, "big") for _ in range(3)
    )
    stream = draw.choice((0, 1, 1, 2, 3, 5, 7, 101, (1 << 31) - 1))
    return draw.randrange(12), draw.randrange(256), stream, draw.choice((*bodies, settings))


def _bent(
    draw: Random, kind: int, flags: int, stream: int, body: bytes
) -> tuple[int, int, int, bytes]:
    match draw.randrange(4):
        case 0:
            return draw.randrange(12), flags, stream, body
        case 1:
            return kind, flags ^ 1 << draw.randrange(8), stream, body
        case 2:
            return kind, flags, draw.choice((0, 1, 2, 3, 9, stream + 2)), body
        case _:
            return kind, flags, stream, mutate_bytes(draw, body, (body,))[:16_000]


# --- targets

FORESEEN: Final = frozenset({"FrameDataMissingError"})
"""What h2 raises for bytes that nobody foresaw, beside its own kind of errors. Any other name is of
a fault of ours."""


@attrs.define(eq=False)
class Noting(Call):
    """A call that takes what it is told and gives all of it back."""

    connection: GrpcConnection
    id: int
    ended: int = 0

    def on_headers(self, headers: dict[str, str], last: bool) -> None:
        demand(all(isinstance(value, str) for value in headers.values()), "a header is no text")

    def on_data(self, data: bytes, size: int) -> None:
        if size:
            self.connection.give_back(self.id, size)

    def on_end(self) -> None:
        """Nothing more comes."""

    def on_reset(self, error: int) -> None:
        self.ended += 1

    def on_malformed(self) -> None:
        self.ended += 1

    def on_lost(self, reason: str) -> None:
        self.ended += 1

    def on_room(self) -> None:
        self.connection.room(self.id)


def _server() -> ServerConnection:
    options: Options = talking()
    routes = served(options, {})
    made = ServerConnection("peer", options, routes, lambda *_call: None, lambda _: False)
    made.connection_made(Counting())
    made.data_received(PREFACE)
    return made


def _client() -> GrpcConnection:
    made = GrpcConnection(client=True)
    made.connection_made(Counting())
    call = Noting(made, made.h2.get_next_available_stream_id())
    made.calls[call.id] = call
    head = [(":method", "POST"), (":scheme", "http"), (":path", TALK), (":authority", "x")]
    made.send_headers(call.id, head)
    made.send_data(call.id, prefixed(b"hello"))
    return made


def runner(make: Callable[[], GrpcConnection]) -> Callable[[bytes], bool]:
    """Feeds a connection: nothing is raised, what it holds and what it answers is bounded, and it
    ends or goes on."""

    def run(data: bytes) -> bool:
        with mock.patch.object(trio, "current_time", return_value=7.0):
            return play(data)

    def play(data: bytes) -> bool:
        way, stream = (data[0], data[1:]) if data else (0, b"")
        connection = make()
        wire: Any = connection._transport
        for piece in pieces(stream, way | 0x80):
            connection.data_received(piece)
            demand(len(connection.calls) <= CALLS, f"{len(connection.calls)} calls at a time")
            demand(connection.held <= HELD, "more is held than a connection may")
            window = connection.h2.inbound_flow_control_window
            demand(window <= CONNECTION_WINDOW, "the connection's window has grown")
        answered = wire.size
        demand(answered <= UNSENT + 40 * len(data), f"{answered} bytes answer {len(data)}")
        demand(connection.lost.is_set() == bool(connection.why), "it is lost for no reason")
        why = connection.why.removeprefix("the connection failed: ")
        demand(why == connection.why or why in FORESEEN, f"{why} was raised in it")
        took = not connection.lost.is_set()
        connection.connection_lost(None)
        demand(not connection.calls, "a call outlives its connection")
        return took

    return run


def _seeds(streams: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(bytes([at]) + stream for at, stream in enumerate(streams))


def _room(size: int) -> int:
    return (8 << 20) + 200 * size


TARGETS: Final = (
    Target("carriage.http2-server", _seeds(SERVED), runner(_server), mutate_http2, room=_room),
    Target("carriage.http2-client", _seeds(ANSWERED), runner(_client), mutate_http2, room=_room),
)
