"""One end is ours, the other is bare: bytes that a peer might send. In virtual time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock, lockstep_stream_pair, memory_stream_pair
from wsproto.frame_protocol import CloseReason, Frame, FrameProtocol, Opcode

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    FrameRefused,
    FrameTooLong,
    Link,
    LinkBroken,
    LinkClosed,
    LinkError,
    Options,
    PeerClosed,
)
from fleetgate.transports.testing import LinkTraits, check_link
from fleetgate.transports.websocket import accept_websocket, connect_websocket
from fleetgate.transports.websocket_link import BATCH, WebSocketLink

ADDRESS = Address("ws", "gw", 80, "/agent")
OPTIONS = Options(limit=1000)
REQUEST = (
    b"GET /agent HTTP/1.1\r\nHost: gw\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Bare:
    """A client that is nothing but a stream and a way to make and read frames."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.frames = FrameProtocol(True, [])
        self.ended = False

    async def upgrade(self) -> None:
        await self.stream.send_all(REQUEST)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += await self.stream.receive_some(1)
        assert head.startswith(b"HTTP/1.1 101 ")

    async def send(self, *payloads: bytes | str) -> None:
        await self.stream.send_all(b"".join(self.frames.send_data(each) for each in payloads))

    async def next(self) -> Frame | None:
        """The next frame; None at the end of the stream."""
        while True:
            for frame in self.frames.received_frames():
                return frame
            data = await self.stream.receive_some()
            if not data:
                self.ended = True
                return None
            self.frames.receive_bytes(bytes(data))


@asynccontextmanager
async def served(options: Options = OPTIONS) -> AsyncGenerator[tuple[WebSocketLink, Bare], None]:
    """Our listener's end, and a bare client."""
    ours, theirs = memory_stream_pair()
    bare = Bare(theirs)
    async with trio.open_nursery() as nursery:
        link = await accept(ours, bare, nursery, options)
        yield link, bare
        await link.close(None)


async def accept(
    ours: trio.abc.Stream, bare: Bare, nursery: trio.Nursery, options: Options
) -> WebSocketLink:
    async with trio.open_nursery() as handshake:
        handshake.start_soon(bare.upgrade)
        return await accept_websocket(ours, nursery, ADDRESS, options)


async def joined(
    nursery: trio.Nursery,
    ends: tuple[trio.abc.Stream, trio.abc.Stream],
    listening: Options,
    dialling: Options,
) -> tuple[WebSocketLink, WebSocketLink]:
    """Two ends of ours over any stream: the dialled one first."""
    accepted: list[WebSocketLink] = []

    async def accept() -> None:
        accepted.append(await accept_websocket(ends[0], nursery, ADDRESS, listening))

    async with trio.open_nursery() as handshake:
        handshake.start_soon(accept)
        near = await connect_websocket(ends[1], nursery, ADDRESS, dialling)
    return near, accepted[0]


@asynccontextmanager
async def lockstep() -> AsyncGenerator[tuple[Link, Link], None]:
    options = Options()
    async with trio.open_nursery() as nursery:
        near, far = await joined(nursery, lockstep_stream_pair(), options, options)
        yield near, far
        await near.close(None)
        await far.close(None)


async def test_it_is_a_link_over_a_stream_without_any_buffer(autojump_clock: MockClock) -> None:
    await check_link(lockstep, LinkTraits(codes=True))


@pytest.mark.limit("transports/websocket_link.BATCH")
async def test_messages_come_in_batches() -> None:
    async with served() as (link, bare):
        await bare.send(*[b"%d" % number for number in range(BATCH + 5)])
        got: list[bytes] = []
        while len(got) < BATCH + 5:
            batch = await link.receive_some()
            assert len(batch) <= BATCH
            got += batch
        assert got == [b"%d" % number for number in range(BATCH + 5)]


async def test_a_message_in_fragments_is_one_frame() -> None:
    async with served() as (link, bare):
        for part, fin in ((b"one ", False), (b"", False), (b"message", True)):
            await bare.stream.send_all(bare.frames.send_data(part, fin))
            await bare.stream.send_all(bare.frames.ping(b"between"))
        assert await link.receive() == b"one message"
        for _ in range(3):
            pong = await bare.next()
            assert pong is not None
            assert (pong.opcode, pong.payload) == (Opcode.PONG, b"between")


async def test_fault_13_pings_are_answered_while_messages_lie_unread() -> None:
    """trio-websocket alone stops answering at its third unread message."""
    async with served() as (_link, bare):
        await bare.send(*[b"unread"] * 200)
        await bare.stream.send_all(bare.frames.ping(b"alive?"))
        pong = await bare.next()
        assert pong is not None
        assert (pong.opcode, pong.payload) == (Opcode.PONG, b"alive?")


def is_close(frame: Frame | None, code: int) -> bool:
    return (
        frame is not None
        and frame.opcode is Opcode.CLOSE
        and isinstance(frame.payload, tuple)
        and frame.payload[0] == code
    )


@pytest.mark.parametrize(
    ("payload", "binary", "code"),
    [
        (b"x" * 1001, True, CloseReason.MESSAGE_TOO_BIG),
        ("text", True, CloseReason.UNSUPPORTED_DATA),
        (b"binary", False, CloseReason.UNSUPPORTED_DATA),
        ("x" * 1001, False, CloseReason.MESSAGE_TOO_BIG),
        ("é" * 501, False, CloseReason.MESSAGE_TOO_BIG),
    ],
)
async def test_what_is_not_taken_gets_its_close_code(
    payload: bytes | str, binary: bool, code: int, autojump_clock: MockClock
) -> None:
    fine = b"fine" if binary else "fine"
    async with served(attrs.evolve(OPTIONS, binary=binary)) as (link, bare):
        await bare.send(fine, payload)
        assert is_close(await bare.next(), code)
        assert await link.receive() == b"fine", "what came before it is lost"
        with pytest.raises(LinkBroken) as caught:
            await link.receive()
        assert caught.value.code == code
        with pytest.raises(LinkBroken):
            await link.send(b"x")
        await bare.stream.aclose()


async def test_exactly_the_limit_is_taken() -> None:
    async with served() as (link, bare):
        await bare.send(b"x" * 1000)
        assert len(await link.receive()) == 1000
        await link.send(b"y" * 1000)
        frame = await bare.next()
        assert frame is not None
        assert frame.payload == b"y" * 1000
        with pytest.raises(FrameTooLong, match="1001 bytes; the limit is 1000"):
            await link.send(b"y" * 1001)
        await link.send(b"still open")


async def test_text_is_utf8_both_ways(autojump_clock: MockClock) -> None:
    async with served(attrs.evolve(OPTIONS, binary=False)) as (link, bare):
        await bare.send("é€𝄞")
        assert await link.receive() == "é€𝄞".encode()
        await link.send("é€𝄞".encode())
        frame = await bare.next()
        assert frame is not None
        assert frame.payload == "é€𝄞"
        with pytest.raises(FrameRefused, match="UTF-8"):
            await link.send(b"\xff")
        await link.send(b"still open")
        assert await bare.next() is not None
        await bare.stream.send_all(bare.frames._serialize_frame(Opcode.TEXT, b"secret \xff"))
        assert is_close(await bare.next(), CloseReason.INVALID_FRAME_PAYLOAD_DATA)
        with pytest.raises(LinkBroken, match="no UTF-8") as caught:
            await link.receive()
        assert caught.value.code == 1007
        assert "secret" not in str(caught.value)


async def test_text_that_is_no_utf8_crosses_both_ways_where_any_text_does() -> None:
    async with served(attrs.evolve(OPTIONS, binary=False, any_text=True)) as (link, bare):
        await bare.stream.send_all(bare.frames._serialize_frame(Opcode.TEXT, b"\xff"))
        assert await link.receive() == b"\xff"
    async with trio.open_nursery() as nursery:
        options = attrs.evolve(OPTIONS, binary=False, any_text=True)
        near, far = await joined(nursery, memory_stream_pair(), options, options)
        await near.send_some([b"\xff\xfe", b"text", b"\xc3"])
        assert [await far.receive() for _ in range(3)] == [b"\xff\xfe", b"text", b"\xc3"]
        await far.send(b"\xff")
        assert await near.receive() == b"\xff"
        await near.close(None)
        await far.close(None)


@pytest.mark.parametrize(("binary", "other"), [(True, "other"), (False, b"other")])
async def test_a_message_of_the_other_kind_can_be_sent(binary: bool, other: str | bytes) -> None:
    async with served(attrs.evolve(OPTIONS, binary=binary)) as (link, bare):
        await link.send_other(b"other")
        frame = await bare.next()
        assert frame is not None
        assert frame.payload == other
        await link.send(b"as ever")


@pytest.mark.parametrize("code", [1005, 1001, 4001])
async def test_it_closes_with_the_code_that_it_is_told(code: int) -> None:
    async with served() as (link, bare), trio.open_nursery() as nursery:
        nursery.start_soon(link.close, code, "why")
        frame = await bare.next()
        assert is_close(frame, code)
        await bare.stream.send_all(bare.frames.close(CloseReason.NORMAL_CLOSURE))


async def test_a_message_of_the_other_kind_may_end_the_link_without_a_word() -> None:
    async with served(attrs.evolve(OPTIONS, binary=False, drop_other=True)) as (link, bare):
        await bare.send(b"binary")
        with pytest.raises(LinkBroken, match="only text messages"):
            await link.receive()
        assert await bare.next() is None


async def test_a_close_payload_that_is_none_gets_1002(autojump_clock: MockClock) -> None:
    async with served() as (link, bare):
        await bare.stream.send_all(bare.frames._serialize_frame(Opcode.CLOSE, b"\x03"))
        assert is_close(await bare.next(), CloseReason.PROTOCOL_ERROR)
        with pytest.raises(LinkBroken):
            await link.receive()


@pytest.mark.parametrize("code", [1000, 1001, None])
async def test_a_peer_that_closes_in_order(code: int | None) -> None:
    async with served() as (link, bare):
        await bare.send(b"last")
        await bare.stream.send_all(bare.frames.close(code, "s3cr3t" if code else None))
        assert await link.receive() == b"last"
        for _ in range(2):
            with pytest.raises(PeerClosed) as caught:
                await link.receive()
            assert (caught.value.code, caught.value.reason) == (code or 1005, "s3cr3t" * bool(code))
            assert "s3cr3t" not in str(caught.value)
        with pytest.raises(LinkBroken):
            await link.send(b"x")
        assert is_close(await bare.next(), code or CloseReason.NO_STATUS_RCVD)


async def test_a_peer_that_closes_with_another_code_or_none_at_all() -> None:
    async with served() as (link, bare):
        await bare.stream.send_all(bare.frames.close(4001, "stale session"))
        with pytest.raises(LinkBroken, match=r"code 4001: 'stale session'") as caught:
            await link.receive()
        assert caught.value.code == 4001
    async with served() as (link, bare):
        await bare.stream.aclose()
        with pytest.raises(LinkBroken, match="without a closing handshake") as caught:
            await link.receive()
        assert caught.value.code == 1006


async def test_closing_says_why_and_waits_for_the_answer() -> None:
    async with served() as (link, bare), trio.open_nursery() as nursery:
        nursery.start_soon(link.close, 4002, "try later")
        frame = await bare.next()
        assert frame is not None
        assert frame.payload == (4002, "try later")
        with pytest.raises(LinkClosed):
            await link.receive()
        await bare.send(b"on its way")
        await bare.stream.send_all(bare.frames.ping(b"on its way too"))
        await bare.stream.send_all(bare.frames.close(4002))
        assert await bare.next() is None


async def test_fault_12_closing_has_a_deadline(autojump_clock: MockClock) -> None:
    async with served() as (link, bare):
        start = trio.current_time()
        await link.close(1000)
        assert trio.current_time() == start + OPTIONS.close_timeout
        assert is_close(await bare.next(), 1000)
        assert await bare.next() is None


async def test_a_ping_while_we_close_does_not_hold_up_the_end(autojump_clock: MockClock) -> None:
    """No pong may follow our close frame, and trio-websocket's reader dies of one that it owes."""
    reports: list[str] = []
    options = attrs.evolve(OPTIONS, report=lambda what, reason: reports.append(what))
    async with served(options) as (link, bare):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.close, 1000)
            assert is_close(await bare.next(), 1000)
            await bare.stream.send_all(bare.frames.ping(b"now?"))
            await bare.stream.send_all(bare.frames.close(1000))
        assert await bare.next() is None
    assert reports == []


async def test_a_long_reason_is_cut_between_characters() -> None:
    async with served() as (link, bare), trio.open_nursery() as nursery:
        nursery.start_soon(link.close, 1008, "é" * 100)
        frame = await bare.next()
        assert frame is not None
        assert frame.payload == (1008, "é" * 61)
        await bare.stream.aclose()


async def test_a_bare_end_is_without_a_word() -> None:
    async with served() as (link, bare):
        await link.close(None)
        assert await bare.next() is None


async def test_closing_can_be_hurried(autojump_clock: MockClock) -> None:
    async with served() as (link, bare):
        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.close, 1000)
            await trio.testing.wait_all_tasks_blocked()
            await link.close(None)
        assert trio.current_time() == start
        assert is_close(await bare.next(), 1000)
        assert await bare.next() is None


async def test_fault_12_a_silent_peer_is_pinged_and_dropped(autojump_clock: MockClock) -> None:
    options = attrs.evolve(OPTIONS, ping_every=20.0, dead_after=60.0)
    async with served(options) as (link, bare):
        start = trio.current_time()
        with pytest.raises(LinkBroken, match="nothing came from the peer for 60 s"):
            await link.receive()
        assert trio.current_time() == start + 60
        for _ in range(2):
            ping = await bare.next()
            assert ping is not None
            assert ping.opcode is Opcode.PING


@pytest.mark.parametrize("sign", ["pong", "message", "half a frame"])
async def test_any_byte_is_a_sign_of_life(sign: str, autojump_clock: MockClock) -> None:
    async with served(attrs.evolve(OPTIONS, dead_after=60.0)) as (link, bare):
        start = trio.current_time()
        large = bytes(bare.frames.send_data(b"x" * 500))
        async with trio.open_nursery() as nursery:

            async def live() -> None:
                for count in range(10):
                    await trio.sleep(50)
                    if sign == "pong":
                        await bare.stream.send_all(bare.frames.pong())
                    elif sign == "message":
                        await bare.send(b"m")
                    else:
                        await bare.stream.send_all(large[count : count + 1])

            nursery.start_soon(live)
            with pytest.raises(LinkBroken, match="nothing came"):
                await read_only(link, b"m")
        assert trio.current_time() == start + 500 + 60


@pytest.mark.parametrize(("sign", "lives"), [("pong", 529), ("message", 45), ("ping", 45)])
async def test_only_a_pong_is_a_sign_of_life_where_the_protocol_says_so(
    sign: str, lives: int, autojump_clock: MockClock
) -> None:
    options = attrs.evolve(OPTIONS, dead_after=45.0, alive_by_pong=True)
    async with served(options) as (link, bare):
        start = trio.current_time()
        frames = {
            "pong": bare.frames.pong(),
            "message": bare.frames.send_data(b"m"),
            "ping": bare.frames.ping(),
        }

        async def live() -> None:
            for _ in range(11):
                await trio.sleep(44)
                await bare.stream.send_all(frames[sign])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(live)
            with pytest.raises(LinkBroken, match="no pong came from the peer for 45 s"):
                await read_only(link, b"m")
            nursery.cancel_scope.cancel()
        assert trio.current_time() == start + lives


async def read_only(link: Link, frame: bytes) -> None:
    async for got in link:
        assert got == frame


async def test_not_reading_is_our_silence_and_not_the_peers(autojump_clock: MockClock) -> None:
    options = attrs.evolve(OPTIONS, limit=1 << 20, dead_after=60.0)
    async with served(options) as (link, bare):
        await bare.send(*[b"x" * (1 << 20)] * 6)
        await trio.sleep(1000)
        got = 0
        while got < 6:
            got += len(await link.receive_some())
        start = trio.current_time()
        with pytest.raises(LinkBroken, match="nothing came"):
            await link.receive()
        assert trio.current_time() == start + 60


async def test_fault_12_a_process_that_stood_still_drops_no_peer_that_lives(
    mock_clock: MockClock,
) -> None:
    options = attrs.evolve(OPTIONS, ping_every=30.0, dead_after=45.0, alive_by_pong=True)
    async with served(options) as (link, bare):
        for still in (100, 60, 20):
            for seconds in (still, 1):
                await trio.testing.wait_all_tasks_blocked()
                mock_clock.jump(seconds)
            await trio.testing.wait_all_tasks_blocked()
            await bare.stream.send_all(bare.frames.pong())
        await bare.send(b"here")
        assert await link.receive() == b"here"


async def test_a_process_that_stood_still_finds_a_dead_peer_the_second_time(
    mock_clock: MockClock,
) -> None:
    options = attrs.evolve(OPTIONS, ping_every=30.0, dead_after=45.0, alive_by_pong=True)
    async with served(options) as (link, _):
        for _ in range(2):
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(100)
        with pytest.raises(LinkBroken, match="no pong came"):
            await link.receive()


async def test_a_peer_that_does_not_read_is_pinged_once_and_dropped(
    autojump_clock: MockClock,
) -> None:
    options = Options(ping_every=10.0, dead_after=35.0)
    async with trio.open_nursery() as nursery:
        near, far = await joined(nursery, lockstep_stream_pair(), options, Options())
        raised: list[Exception] = []

        async def fill() -> None:
            try:
                while True:
                    await far.send(b"x" * 60_000)
            except LinkError as error:
                raised.append(error)

        nursery.start_soon(fill)
        start = trio.current_time()
        with pytest.raises(LinkBroken, match="nothing came from the peer for 35 s"):
            await far.receive()
        assert trio.current_time() == start + 35
        await far.close(None)
        await near.close(None)
    assert len(raised) == 1


async def test_a_ping_that_the_peer_does_not_take_in_time_ends_the_link(
    autojump_clock: MockClock,
) -> None:
    options = attrs.evolve(OPTIONS, ping_every=30.0, dead_after=45.0, write_within=10.0)
    ours, theirs = lockstep_stream_pair()
    async with trio.open_nursery() as nursery:
        link = await accept(ours, Bare(theirs), nursery, options)
        start = trio.current_time()
        with pytest.raises(LinkBroken, match="the peer did not take a control frame"):
            await link.receive()
        assert trio.current_time() == start + 40
        await link.close(None)


async def test_a_reader_that_dies_is_reported_and_ends_the_link_only(
    autojump_clock: MockClock,
) -> None:
    class Failing(trio.abc.Stream):
        """A transport with a fault of its own."""

        def __init__(self, stream: trio.abc.Stream) -> None:
            self.stream = stream
            self.fails = False

        async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
            data = await self.stream.receive_some(max_bytes)
            if self.fails:
                raise ZeroDivisionError
            return data

        async def send_all(self, data: bytes | bytearray | memoryview) -> None:
            await self.stream.send_all(data)

        async def wait_send_all_might_not_block(self) -> None:
            await self.stream.wait_send_all_might_not_block()

        async def aclose(self) -> None:
            await self.stream.aclose()

    reports: list[tuple[str, BaseException | None]] = []
    options = attrs.evolve(OPTIONS, report=lambda *what: reports.append(what))
    ours, theirs = memory_stream_pair()
    failing, bare = Failing(ours), Bare(theirs)
    async with trio.open_nursery() as nursery:
        link = await accept(failing, bare, nursery, options)
        failing.fails = True
        await bare.send(b"x")
        with pytest.raises(LinkBroken, match="ZeroDivisionError") as caught:
            await link.receive()
        assert caught.value.code == 1011
        await link.close(None)
    assert [(what, type(reason)) for what, reason in reports] == [
        ("carrier_failed", ZeroDivisionError)
    ]


async def test_leaving_the_carriers_nursery_drops_the_link() -> None:
    async with trio.open_nursery() as outer:
        outer.cancel_scope.shield = True
        ours, theirs = memory_stream_pair()
        bare = Bare(theirs)
        async with trio.open_nursery() as nursery:
            link = await accept(ours, bare, nursery, OPTIONS)
            nursery.cancel_scope.cancel()
        assert await bare.next() is None
        with pytest.raises(LinkBroken):
            await link.receive()
        await link.close(1000)


async def test_a_peer_that_has_gone_is_found_by_sending() -> None:
    async with served() as (link, bare):
        assert isinstance(bare.stream, trio.StapledStream)
        await bare.stream.receive_stream.aclose()
        for _ in range(2):
            with pytest.raises(LinkBroken, match=r"lost|without a closing handshake"):
                await link.send(b"x")
        await bare.stream.aclose()


async def test_a_ping_that_cannot_be_sent_leaves_the_verdict_to_the_reader(
    autojump_clock: MockClock,
) -> None:
    async with served(attrs.evolve(OPTIONS, ping_every=1.0)) as (link, bare):
        assert isinstance(bare.stream, trio.StapledStream)
        await bare.stream.receive_stream.aclose()
        await trio.sleep(5)
        await bare.send(b"still talking")
        assert await link.receive() == b"still talking"
        await bare.stream.aclose()
        with pytest.raises(LinkBroken):
            await link.receive()


async def test_a_violation_by_a_peer_that_has_gone() -> None:
    async with served() as (link, bare):
        await bare.send("text")
        await bare.stream.aclose()
        with pytest.raises(LinkBroken, match="only binary") as caught:
            await link.receive()
        assert caught.value.code == 1003
        await link.close(1000)


async def test_byte_by_byte_it_is_the_same(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        near, far = await joined(nursery, memory_stream_pair(), OPTIONS, OPTIONS)
        for link in (near, far):
            link.trickle(1)
        await near.send_some([b"x" * 900, b"y"])
        assert await far.receive() == b"x" * 900
        assert await far.receive() == b"y"
        await near.aclose()
        with pytest.raises(trio.EndOfChannel):
            await far.receive()
        await far.aclose()


async def test_one_task_sends_and_one_receives() -> None:
    async with trio.open_nursery() as nursery:
        near, far = await joined(nursery, lockstep_stream_pair(), OPTIONS, OPTIONS)
        async with trio.open_nursery() as tasks:
            tasks.start_soon(near.receive_some)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(trio.BusyResourceError):
                await near.receive_some()
            tasks.cancel_scope.cancel()
        await near.close(None)
        await far.close(None)


async def test_pings_that_are_not_answered_cost_the_link(autojump_clock: MockClock) -> None:
    pings = attrs.evolve(OPTIONS, ping_every=30.0, dead_after=45.0, alive_by_pong=True)
    async with trio.open_nursery() as nursery:
        near, far = await joined(nursery, memory_stream_pair(), pings, OPTIONS)
        near.pings.answered = False
        await trio.sleep(44)
        assert (near.pings.came, near.pings.last) == (1, b"")
        with pytest.raises(LinkBroken):
            await near.receive()
        assert trio.current_time() < 50
        await far.aclose()
        await near.aclose()
