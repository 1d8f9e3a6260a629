"""WebSocket: the guard that takes messages out, and whole links, the upgrade among them, at either
end of a stream in memory."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import partial
from random import Random
from typing import Any, Final

import h11
import trio
import wsproto
from fuzz_bytes import mutate_bytes
from fuzz_engine import Target, demand
from fuzz_streams import pieces
from trio.testing import MockClock, memory_stream_pair

from fleetgate.transports.address import Address
from fleetgate.transports.api import DialFailed, DialRefused, LinkBroken, Options
from fleetgate.transports.websocket import accept_websocket, connect_websocket
from fleetgate.transports.websocket_guard import Guard
from fleetgate.transports.websocket_link import WebSocketLink

LIMIT: Final = 8 * 1024
ADDRESS: Final = Address("ws", "gw", 80, "/agent")
ACCEPT: Final = b"@ACCEPT@"
"""Stands for what a server makes of a client's key, which nobody knows beforehand."""

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KEY: Final = b"\x01\x80\xff\x00"
REQUEST: Final = (
    b"GET /agent HTTP/1.1\r\nHost: gw\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
ANSWER: Final = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Accept: " + ACCEPT + b"\r\n\r\n"
)


def _frame(masked: bool, opcode: int, payload: bytes = b"", fin: bool = True) -> bytes:
    size = len(payload)
    wide = 0 if size < 126 else 2 if size < 1 << 16 else 8
    head = bytes([fin << 7 | opcode, masked << 7 | {0: size, 2: 126, 8: 127}[wide]])
    head += size.to_bytes(wide, "big") if wide else b""
    body = bytes(byte ^ _KEY[at % 4] for at, byte in enumerate(payload))
    return head + (_KEY + body if masked else payload)


def _streams(masked: bool) -> tuple[bytes, ...]:
    frame = partial(_frame, masked)
    bye = frame(8, b"\x03\xe8over")
    return (
        frame(2, b"hello") + frame(9, b"ping") + bye,
        frame(2, b"a", False) + frame(9) + frame(0, b"b", False) + frame(0, b"c") + bye,
        frame(1, "é".encode()) + frame(10, b"pong") + frame(8),
        frame(2, b"x" * 300) * 20 + frame(2, b"y" * 5000) + frame(8, b"\x03\xf2\xff"),
        frame(2, b"z" * 9000),
    )


def run_guard(masked: bool, data: bytes) -> bool:
    """Bytes in pieces make the same of it as in one, and nothing beyond the limit is kept."""
    way, stream = (data[0], data[1:]) if data else (0, b"")
    once, parts = (Guard(masked=masked, binary=True, limit=LIMIT) for _ in range(2))
    passed = once.feed(stream)
    bits = b""
    for piece in pieces(stream, way):
        bits += parts.feed(piece)
    demand(once.taken == parts.taken, "pieces change what is taken")
    demand(passed == bits, "pieces change what is passed on")
    same = (once.violation is None) == (parts.violation is None)
    demand(same and once.peer_closed == parts.peer_closed, "pieces change how it ends")
    demand(all(len(message) <= LIMIT for message in once.taken), "a message beyond the limit")
    return once.violation is None


def _options() -> Options:
    def report(what: str, error: object) -> None:
        raise AssertionError(f"{what}: {error!r}")

    return Options(limit=LIMIT, binary=True, report=report)


def run_server(data: bytes) -> bool:
    """A client's bytes, from its request on."""
    return _run("server", data)


def run_client(data: bytes) -> bool:
    """A server's bytes, from its answer on."""
    return _run("client", data)


def _run(ours: str, data: bytes) -> bool:
    return trio.run(_play, ours, data, clock=MockClock(autojump_threshold=0))


async def _play(ours: str, data: bytes) -> bool:
    here, there = memory_stream_pair()
    opened: list[WebSocketLink] = []
    with trio.fail_after(3600):
        async with trio.open_nursery() as nursery:
            async with trio.open_nursery() as both:
                both.start_soon(_live, ours, here, nursery, opened)
                both.start_soon(_speak, ours, there, data)
            nursery.cancel_scope.cancel()
    return bool(opened)


async def _live(ours: str, stream: Any, nursery: trio.Nursery, opened: list[WebSocketLink]) -> None:
    """Open a link, and read what comes until it is over."""
    try:
        how = accept_websocket if ours == "server" else connect_websocket
        link = await how(stream, nursery, ADDRESS, _options())
    except (LinkBroken, h11.ProtocolError, wsproto.utilities.ProtocolError, UnicodeError) as error:
        demand(ours == "server", f"a dialler is raised {error!r}")
        return
    except (DialFailed, DialRefused):
        demand(ours == "client", "a listener is raised a dialler's error")
        return
    opened.append(link)
    try:
        async for message in link:
            demand(len(message) <= LIMIT, "a message beyond the limit")
            await link.send(message[:64])
    except LinkBroken:
        pass
    await link.close(1000)


async def _speak(ours: str, stream: Any, data: bytes) -> None:
    """Say the data, and read whatever is answered until that ends."""
    way, said = (data[0], data[1:]) if data else (0, b"")
    try:
        if ours == "client":
            said = said.replace(ACCEPT, await _accept(stream))
        else:  # whoever goes on before the answer has come is turned away
            head, mark, said = said.partition(b"\r\n\r\n")
            await stream.send_all(head + mark)
            with trio.move_on_after(1):
                await _head(stream)
        for piece in pieces(said, way | 0x80):
            await stream.send_all(piece)
        await stream.send_eof()
        while await stream.receive_some():
            pass
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return


async def _head(stream: Any) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n") and (more := await stream.receive_some(1)):
        head += more
    return head


async def _accept(stream: Any) -> bytes:
    head = await _head(stream)
    key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)
    demand(key is not None, "the request has no key")
    assert key is not None
    return base64.b64encode(hashlib.sha1(key[1] + _GUID).digest())


def mutate_upgrade(draw: Random, data: bytes, seeds: Any) -> bytes:
    """The upgrade stays as it is in most: behind another one nothing is read."""
    head, mark, rest = data[1:].partition(b"\r\n\r\n")
    rests = [seed.partition(b"\r\n\r\n")[2] for seed in seeds]
    if draw.random() < 0.3:
        head = mutate_bytes(draw, head, seeds)
    else:
        rest = mutate_bytes(draw, rest, rests)
    return bytes([draw.randrange(256)]) + head + mark + rest


def _mutate_guard(draw: Random, data: bytes, seeds: Any) -> bytes:
    return bytes([draw.randrange(256)]) + mutate_bytes(draw, data[1:], [s[1:] for s in seeds])


def _seeds(head: bytes, masked: bool) -> tuple[bytes, ...]:
    return tuple(bytes([at]) + head + each for at, each in enumerate(_streams(masked)))


def _room(size: int) -> int:
    return (8 << 20) + 200 * size


TARGETS: Final = (
    Target("carriage.guard-server", _seeds(b"", True), partial(run_guard, True), _mutate_guard),
    Target("carriage.guard-client", _seeds(b"", False), partial(run_guard, False), _mutate_guard),
    Target(
        "carriage.websocket-server",
        _seeds(REQUEST, True),
        run_server,
        mutate_upgrade,
        share=0.08,
        room=_room,
    ),
    Target(
        "carriage.websocket-client",
        _seeds(ANSWER, False),
        run_client,
        mutate_upgrade,
        share=0.08,
        room=_room,
    ),
)
