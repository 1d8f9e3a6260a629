"""What RFC 6455 says of each frame, case by case, to either end of ours. Bytes in, bytes out: the
peer is nothing but a stream, and no library reads or writes its frames."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import pairwise

import attrs
import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from fleetgate.transports.address import Address
from fleetgate.transports.api import LinkBroken, Options
from fleetgate.transports.websocket import accept_websocket, connect_websocket
from fleetgate.transports.websocket_link import WebSocketLink

ADDRESS = Address("ws", "gw", 80, "/agent")
REQUEST = (
    b"GET /agent HTTP/1.1\r\nHost: gw\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LIMIT = 70_000
MORE, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
KEY = b"\x01\x80\xff\x00"


@attrs.frozen
class F:
    """A frame: `length` is how many bytes of it say its length, where that is not the fewest."""

    opcode: int
    payload: bytes = b""
    fin: bool = True
    reserved: int = 0
    length: int = 0

    def bytes(self, masked: bool) -> bytes:
        size = len(self.payload)
        wide = self.length or (0 if size < 126 else 2 if size < 1 << 16 else 8)
        short = {0: size, 2: 126, 8: 127}[wide]
        head = bytes([self.fin << 7 | self.reserved << 4 | self.opcode, masked << 7 | short])
        head += size.to_bytes(wide, "big") if wide else b""
        return head + (KEY + mask(self.payload) if masked else self.payload)


def mask(payload: bytes) -> bytes:
    return bytes(byte ^ KEY[at % 4] for at, byte in enumerate(payload))


def close(code: int, reason: bytes = b"") -> F:
    return F(CLOSE, code.to_bytes(2, "big") + reason)


def read(data: bytes, masked: bool) -> list[tuple[int, bytes]]:
    """The frames that ours has sent, which are whole and the shortest."""
    found: list[tuple[int, bytes]] = []
    while data:
        first, second = data[0], data[1]
        assert first & 0xF0 == 0x80
        assert bool(second & 0x80) == masked
        wide = {126: 2, 127: 8}.get(second & 0x7F, 0)
        size = int.from_bytes(data[2 : 2 + wide], "big") if wide else second & 0x7F
        at = 2 + wide
        key, at = (data[at : at + 4], at + 4) if masked else (bytes(4), at)
        payload = bytes(byte ^ key[n % 4] for n, byte in enumerate(data[at : at + size]))
        found.append((first & 0x0F, payload))
        data = data[at + size :]
    return found


@attrs.define
class Heard:
    """What ours made of it: messages it gave out, what it answered, how it ended."""

    messages: list[bytes] = attrs.Factory(list)
    broken: int | None = None
    frames: list[tuple[int, bytes]] = attrs.Factory(list)

    @property
    def code(self) -> int | None:
        """That of the close frame ours sent; 0: one without; None: it sent none."""
        closes = [payload for opcode, payload in self.frames if opcode == CLOSE]
        assert len(closes) <= 1
        return int.from_bytes(closes[0][:2], "big") if closes else None

    @property
    def pongs(self) -> list[bytes]:
        return [payload for opcode, payload in self.frames if opcode == PONG]


async def play(ours: str, frames: list[F], *, text: bool = False, step: int = 0) -> Heard:
    """Have a peer of `ours`, server or client, send these frames, and then no more."""
    options = Options(limit=LIMIT, binary=not text)
    here, there = memory_stream_pair()
    heard, raw = Heard(), b""
    async with trio.open_nursery() as nursery:
        link = await opened(ours, here, there, nursery, options)
        async with trio.open_nursery() as both:
            both.start_soon(listen, link, heard)
            data = b"".join(frame.bytes(ours == "server") for frame in frames)
            for start, end in pairwise([*range(0, len(data), step or len(data)), len(data)]):
                await there.send_all(data[start:end])
            await there.send_eof()
            while more := await there.receive_some():
                raw += bytes(more)
        await link.close(None)
    heard.frames = read(raw, masked=ours == "client")
    return heard


async def listen(link: WebSocketLink, heard: Heard) -> None:
    try:
        async for message in link:
            heard.messages.append(message)
        await link.close(1000)
    except LinkBroken as error:
        heard.broken = error.code
        await link.close(1000)


async def opened(
    ours: str,
    here: trio.StapledStream,
    there: trio.StapledStream,
    nursery: trio.Nursery,
    options: Options,
) -> WebSocketLink:
    """Ours behind the upgrade, which the peer does by hand."""
    links: list[WebSocketLink] = []

    async def open() -> None:
        how = accept_websocket if ours == "server" else connect_websocket
        links.append(await how(here, nursery, ADDRESS, options))

    async with trio.open_nursery() as handshake:
        handshake.start_soon(open)
        if ours == "server":
            await there.send_all(REQUEST)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += await there.receive_some(1)
        if ours == "client":
            key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)
            assert key is not None
            digest = base64.b64encode(hashlib.sha1(key[1] + GUID).digest())
            await there.send_all(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                b"Upgrade: websocket\r\nSec-WebSocket-Accept: " + digest + b"\r\n\r\n"
            )
    return links[0]


both = pytest.mark.parametrize("ours", ["server", "client"])
BYE = close(1000)


@both
@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537])
async def test_messages_of_each_size(ours: str, size: int) -> None:
    heard = await play(ours, [F(BINARY, b"\xfe" * size), BYE], step=4096)
    assert (heard.messages, heard.code) == ([b"\xfe" * size], 1000)


@both
@pytest.mark.parametrize("step", [0, 1])
async def test_fragments_and_what_comes_between(ours: str, step: int) -> None:
    """Control frames stand between fragments, and pings are answered in order."""
    frames = [
        F(PING, b"before"),
        F(BINARY, b"a", fin=False),
        F(PING, b"between"),
        F(MORE, b"", fin=False),
        F(PONG, b"nobody asked"),
        F(MORE, b"b", fin=False),
        F(PING, b"x" * 125),
        F(MORE, b"c"),
        F(PING),
        F(BINARY, b"next"),
        BYE,
    ]
    heard = await play(ours, frames, step=step)
    assert heard.messages == [b"abc", b"next"]
    assert heard.pongs == [b"before", b"between", b"x" * 125, b""]
    assert heard.code == 1000


BROKEN: dict[str, tuple[list[F], int]] = {
    "a ping of 126 bytes": ([F(PING, b"x" * 126)], 1002),
    "a ping in fragments": ([F(PING, b"x", fin=False), F(MORE, b"y")], 1002),
    "a close in fragments": ([F(CLOSE, b"\x03\xe8", fin=False)], 1002),
    "a close of 126 bytes": ([close(1000, b"x" * 124)], 1002),
    "a pong with a reserved bit": ([F(PONG, reserved=1)], 1002),
    **{f"reserved bits {bits}": ([F(BINARY, b"x", reserved=bits)], 1002) for bits in (1, 2, 4, 7)},
    **{f"opcode {code}": ([F(code, b"x")], 1002) for code in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    "a continuation of nothing": ([F(MORE, b"x")], 1002),
    "the end of nothing, behind a message": ([F(BINARY, b"x"), F(MORE, b"x")], 1002),
    "a message inside another": ([F(BINARY, b"x", fin=False), F(BINARY, b"y")], 1002),
    "a text": ([F(TEXT, b"x")], 1003),
    "a message above the limit": ([F(BINARY, bytes(LIMIT + 1))], 1009),
    "fragments above the limit": ([F(BINARY, bytes(LIMIT), fin=False), F(MORE, b"x")], 1009),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", BROKEN)
async def test_what_fails_the_connection(ours: str, name: str) -> None:
    """What came before it counts; nothing behind it does."""
    frames, code = BROKEN[name]
    heard = await play(ours, [F(BINARY, b"before"), *frames, F(BINARY, b"behind"), BYE])
    assert heard.messages[:1] == [b"before"]
    assert b"behind" not in heard.messages
    assert (heard.code, heard.broken) == (code, code)


@both
@pytest.mark.parametrize("wrong", [True, False])
async def test_who_masks(ours: str, wrong: bool) -> None:
    """A client masks and a server does not: the other way round is 1002."""
    frame = F(BINARY, b"x").bytes((ours == "server") != wrong)
    here, there = memory_stream_pair()
    heard = Heard()
    async with trio.open_nursery() as nursery:
        link = await opened(ours, here, there, nursery, Options())
        await there.send_all(frame)
        await there.send_eof()
        await listen(link, heard)
    assert heard.messages == ([] if wrong else [b"x"])
    assert heard.broken == (1002 if wrong else 1006)


FINE = (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999)
BAD = (0, 999, 1004, 1005, 1006, 1015, 5000, 65_535)


@both
@pytest.mark.parametrize("code", FINE)
async def test_a_close_code_is_answered_with_itself(ours: str, code: int) -> None:
    heard = await play(ours, [F(BINARY, b"x"), close(code, "bye é".encode())])
    assert heard.messages == [b"x"]
    assert heard.code == code
    assert heard.broken == (None if code in (1000, 1001) else code)


@both
async def test_a_close_without_a_code(ours: str) -> None:
    heard = await play(ours, [F(CLOSE)])
    assert (heard.code, heard.broken) == (0, None)


@both
@pytest.mark.parametrize("code", BAD)
async def test_a_close_code_that_nobody_may_send(ours: str, code: int) -> None:
    heard = await play(ours, [close(code)])
    assert (heard.code, heard.broken) == (1002, 1002)


@both
@pytest.mark.parametrize(("payload", "code"), [(b"\x03", 1002), (b"\x03\xe8\xce\xba\xe1", 1007)])
async def test_a_close_payload_that_is_none(ours: str, payload: bytes, code: int) -> None:
    """Of one byte, or with a reason that is no UTF-8."""
    heard = await play(ours, [F(CLOSE, payload)])
    assert (heard.code, heard.broken) == (code, code)


@both
async def test_nothing_counts_behind_a_close(ours: str) -> None:
    heard = await play(ours, [BYE, F(BINARY, b"late"), F(PING, b"late"), BYE])
    assert (heard.messages, heard.pongs, heard.code) == ([], [], 1000)


@both
async def test_a_close_between_fragments(ours: str) -> None:
    heard = await play(ours, [F(BINARY, b"half", fin=False), BYE])
    assert (heard.messages, heard.code) == ([], 1000)


@both
async def test_the_length_may_be_longer_than_it_need_be(ours: str) -> None:
    """Section 5.2 wants the fewest bytes, and gives nobody the duty to refuse more."""
    heard = await play(ours, [F(BINARY, b"x", length=2), F(BINARY, b"y", length=8), BYE])
    assert (heard.messages, heard.code) == ([b"x", b"y"], 1000)


GOOD_TEXT = ("", "κόσμε", "\U0010ffff", "\ufffe\uffff", "\0", "\ud7ff\ue000", "é" * 9000)
BAD_TEXT = (
    b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited",
    b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
    b"\x80", b"\xbf", b"\xff", b"\xfe", b"\xce", b"\xed\xbf\xbf", b"ok\xc3", b"\xc3(",
)  # fmt: skip


@both
@pytest.mark.parametrize("pieces", [1, 3])
async def test_a_text_is_utf8_whatever_its_fragments(ours: str, pieces: int) -> None:
    frames: list[F] = []
    for text in GOOD_TEXT:
        data = text.encode()
        step = -(-len(data) // pieces) or 1
        parts = [data[at : at + step] for at in range(0, len(data), step)] or [b""]
        for at, part in enumerate(parts):
            frames.append(F(MORE if at else TEXT, part, fin=at == len(parts) - 1))
    heard = await play(ours, [*frames, BYE], text=True)
    assert [message.decode() for message in heard.messages] == list(GOOD_TEXT)


@both
@pytest.mark.parametrize("data", BAD_TEXT)
async def test_a_text_that_is_no_utf8(ours: str, data: bytes) -> None:
    half = len(data) // 2
    for frames in ([F(TEXT, data)], [F(TEXT, data[:half], fin=False), F(MORE, data[half:])]):
        heard = await play(ours, [F(TEXT, b"fine"), *frames, BYE], text=True)
        assert heard.messages == [b"fine"]
        assert (heard.code, heard.broken) == (1007, 1007)


async def test_a_peer_that_sends_half_a_frame_and_ends(autojump_clock: MockClock) -> None:
    whole = F(BINARY, b"x" * 200)
    here, there = memory_stream_pair()
    heard = Heard()
    async with trio.open_nursery() as nursery:
        link = await opened("server", here, there, nursery, Options())
        await there.send_all(whole.bytes(True)[:-1])
        await there.aclose()
        await listen(link, heard)
    assert (heard.messages, heard.broken) == ([], 1006)
