"""What a peer can bring into memory that begins something and never ends it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest
import trio
from hpack import Encoder
from memory_gateway import MIB, Served, say

from fleetgate.gateway.admin.http import CHUNK, MAX_BODY, MAX_HEAD
from fleetgate.gateway.bench.process import peak_rss, rss
from fleetgate.gateway.fakes.lines import MAX_LINE
from fleetgate.protocols.agency.wire import MAX_FRAME
from fleetgate.protocols.iop.wire import MAX_MESSAGE
from fleetgate.protocols.rvbox.limits import FRAME
from fleetgate.transports.grpc_http2 import CONNECTION_WINDOW, HEADERS
from fleetgate.transports.grpc_http2_testing import CONTINUATION, DATA, SETTINGS, frame
from fleetgate.transports.grpc_http2_testing import HEADERS as HEADERS_FRAME
from fleetgate.transports.websocket_tap import HEAD, UNREAD_BYTES

SENT = 100 * MIB
PIECE = 64 << 10
SLACK = 8 * MIB
"""Beside the limit: what is read at a time, and what a listener needs for its first peer."""


def _line() -> Iterator[bytes]:
    """A line, or a header, without an end."""
    for _ in range(SENT // PIECE):
        yield b"x" * PIECE


def _head() -> Iterator[bytes]:
    """A request whose headers have no end."""
    yield b"GET /agent HTTP/1.1\r\nhost: h\r\n"
    for at in range(SENT // 1024):
        yield b"x-%06d: %s\r\n" % (at, b"y" * 1000)


def _one_header() -> Iterator[bytes]:
    """A header of a request that has no end."""
    yield b"GET /agent HTTP/1.1\r\nx-header: "
    yield from _line()


def _body() -> Iterator[bytes]:
    """A body whose end is 100 GB away."""
    yield b"POST /v1/runs HTTP/1.1\r\nhost: h\r\ncontent-length: 100000000000\r\n\r\n"
    yield from _line()


def _chunks() -> Iterator[bytes]:
    """A body in pieces that do not end."""
    yield b"POST /v1/runs HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"
    for piece in _line():
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


UPGRADE = (
    b"GET /agent HTTP/1.1\r\nhost: h\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"sec-websocket-protocol: rvbox.v1\r\n\r\n"
)


def _ws_frame(first: int, size: int) -> bytes:
    return bytes([first, 0x80 | 127]) + size.to_bytes(8, "big") + bytes(4)


def _fragments() -> Iterator[bytes]:
    """A WebSocket message in fragments, none of which is the last."""
    yield UPGRADE
    for at, piece in enumerate(_line()):
        yield _ws_frame(0x00 if at else 0x02, len(piece)) + piece


def _huge_message() -> Iterator[bytes]:
    """A WebSocket message that says that it has 2^62 bytes."""
    yield UPGRADE + _ws_frame(0x82, 1 << 62)
    yield from _line()


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)
CALL = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/iop.NodeLink/Connect"),
    (":authority", "h"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
]


def _grpc_message() -> Iterator[bytes]:
    """A gRPC message that says that it has 4 GB."""
    yield PREFACE + frame(HEADERS_FRAME, 4, 1, bytes(Encoder().encode(CALL)))
    yield frame(DATA, 0, 1, b"\x00\xff\xff\xff\xff")
    for _ in range(SENT // 16_384):
        yield frame(DATA, 0, 1, b"x" * 16_384)


def _grpc_headers() -> Iterator[bytes]:
    """Headers of a call, continued and continued."""
    yield PREFACE + frame(HEADERS_FRAME, 0, 1, bytes(Encoder().encode(CALL)))
    block = bytes(Encoder().encode([(f"x-{n}", "y" * 1000) for n in range(15)]))
    for _ in range(SENT // len(block)):
        yield frame(CONTINUATION, 0, 1, block)


@attrs.frozen
class Attack:
    """Bytes without an end, whom they are for, and what of them may be kept."""

    to: str
    pieces: Callable[[], Iterator[bytes]]
    most: int
    lives: bool = False
    """Whether the connection is not at fault, but a call of it."""


ATTACKS = [
    Attack("gui", _line, MAX_FRAME),
    Attack("hosts", _line, HEAD),
    Attack("hosts", _head, HEAD),
    Attack("hosts", _one_header, HEAD),
    Attack("hosts", _fragments, 2 * FRAME + UNREAD_BYTES),
    Attack("hosts", _huge_message, FRAME + UNREAD_BYTES),
    Attack("nodes", _line, CHUNK),
    Attack("nodes", _grpc_message, MAX_MESSAGE + CONNECTION_WINDOW, lives=True),
    Attack("nodes", _grpc_headers, HEADERS),
    Attack("admin", _line, MAX_HEAD + CHUNK),
    Attack("admin", _head, MAX_HEAD + CHUNK),
    Attack("admin", _body, MAX_BODY),
    Attack("admin", _chunks, 3 * MAX_BODY),
]


async def _attack(address: str, attack: Attack) -> bool:
    """Send it all, or what is taken of it. Whether the other side ends the connection."""
    if address.startswith("unix:"):
        stream: trio.SocketStream = await trio.open_unix_socket(address.removeprefix("unix:"))
    else:
        place = urlsplit(address)
        assert place.hostname is not None
        assert place.port is not None
        stream = await trio.open_tcp_stream(place.hostname, place.port)
    ended = trio.Event()
    async with stream, trio.open_nursery() as nursery:
        nursery.start_soon(_hear, stream, ended)
        with trio.move_on_after(300):
            try:
                for piece in attack.pieces():
                    await stream.send_all(piece)
            except trio.BrokenResourceError:
                ended.set()
            if not attack.lives:
                await ended.wait()
        nursery.cancel_scope.cancel()
    return ended.is_set()


async def _hear(stream: trio.SocketStream, ended: trio.Event) -> None:
    try:
        while await stream.receive_some(PIECE):
            pass
    except trio.BrokenResourceError:
        pass  # that is an end, too
    ended.set()


@pytest.mark.slow
async def test_i9_what_has_no_end_is_not_kept(served: Served) -> None:
    addresses = {**served.addresses, "admin": f"unix:{served.root}/admin/socket"}
    for attack in ATTACKS:
        served.forget_peak()
        before = served.peak
        ended = await _attack(addresses[attack.to], attack)
        grown = served.peak - before
        say(f"{attack.to}, {attack.pieces.__doc__} {grown / MIB:.1f} MiB")
        assert ended is not attack.lives, attack
        assert grown < attack.most + SLACK, attack
    assert (await served.status())["name"] == "memory"


@pytest.mark.slow
def test_i9_a_line_of_a_fake_that_has_no_end(tmp_path: Path) -> None:
    """Its front end belongs to whoever started it, and lives on."""
    words = ("fake", "agency-daemon", "--socket", str(tmp_path / "socket"))
    with subprocess.Popen(
        (sys.executable, "-P", "-m", "fleetgate", *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as fake:
        assert fake.stdin is not None
        assert fake.stdout is not None
        assert b"ready" in fake.stdout.readline()
        before = rss(fake.pid)
        for piece in _line():
            fake.stdin.write(piece)
        fake.stdin.write(b"\n")
        fake.stdin.flush()
        refused = json.loads(fake.stdout.readline())
        grown = peak_rss(fake.pid) - before
        say(f"a fake's line: {grown / MIB:.1f} MiB")
        assert refused["error"]["code"] == "invalid_argument"
        fake.stdin.write(b'{"op": "quit", "id": "1"}\n')  # the dead have no peak to be read
        fake.stdin.flush()
        assert json.loads(fake.stdout.readline()) == {"id": "1", "ok": True}
    assert grown < 2 * MAX_LINE + SLACK
