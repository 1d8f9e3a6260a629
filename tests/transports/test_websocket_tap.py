from __future__ import annotations

import pytest
import trio
from trio.testing import MemoryReceiveStream, MemorySendStream, MockClock
from wsproto.frame_protocol import FrameProtocol

from fleetgate.transports.meter import Meter
from fleetgate.transports.stream import READ
from fleetgate.transports.websocket_guard import Guard
from fleetgate.transports.websocket_tap import (
    HEAD,
    LARGE,
    MORE,
    UNREAD_BYTES,
    UNREAD_MESSAGES,
    Tap,
)

ANSWER = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
REQUEST = b"GET /agent HTTP/1.1\r\nHost: h\r\n\r\n"
FRAMES = FrameProtocol(False, [])


def message(payload: bytes) -> bytes:
    return bytes(FRAMES.send_data(payload))


class Rig:
    """A tap, and the far end of its transport."""

    def __init__(self, client: bool = True, limit: int = 1 << 20) -> None:
        self.inward, self.outward = MemoryReceiveStream(), MemorySendStream()
        guard = Guard(masked=not client, binary=True, limit=limit)
        transport = trio.StapledStream(self.outward, self.inward)
        self.tap = Tap(transport, guard, Meter(), client=client)

    async def read(self, data: bytes) -> bytes:
        self.inward.put_data(data)
        return await self.tap.receive_some(1)


async def test_the_head_passes_and_frames_behind_it_are_watched() -> None:
    rig = Rig()
    for at in range(len(ANSWER) - 1):
        assert await rig.read(ANSWER[at : at + 1]) == ANSWER[at : at + 1]
        assert not rig.tap.upgraded
    assert await rig.read(ANSWER[-1:] + message(b"first")) == ANSWER[-1:]
    assert rig.tap.upgraded
    assert rig.tap.head == ANSWER
    assert list(rig.tap.guard.taken) == [b"first"]
    assert rig.tap.meter.bytes_in == len(ANSWER) + len(message(b"first"))


@pytest.mark.limit("transports/websocket_tap.HEAD")
async def test_a_refusal_passes_unwatched_and_bounded() -> None:
    rig = Rig()
    refusal = b"HTTP/1.1 401 Unauthorized\r\n\r\n\x83\x00body"
    assert await rig.read(refusal) == refusal
    assert not rig.tap.upgraded
    assert await rig.read(b"more") == b"more"
    assert await rig.read(b"x" * HEAD) == b""
    assert rig.tap.fault is not None
    assert "more than 65536 bytes" in rig.tap.fault.text


async def test_an_endless_head_is_cut() -> None:
    for client in (True, False):
        rig = Rig(client)
        passed = b"?"
        while passed:
            passed = await rig.read(b"x-filler: y\r\n" * 500)
        assert rig.tap.fault is not None
        assert rig.tap.ended.is_set()


async def test_frames_before_we_agreed_are_refused() -> None:
    for split in (False, True):
        rig = Rig(client=False)
        if split:
            assert await rig.read(REQUEST) == REQUEST
            assert await rig.read(b"\x82") == b""
        else:
            assert await rig.read(REQUEST + b"\x82") == REQUEST
            assert await rig.tap.receive_some() == b""
        assert rig.tap.fault is not None
        assert "between the upgrade and our answer" in rig.tap.fault.text
    rig = Rig(client=False)
    assert await rig.read(REQUEST) == REQUEST
    rig.tap.accept()
    ping = b"\x89\x80\x00\x00\x00\x00"
    assert await rig.read(ping) == ping


async def upgraded(limit: int = 1 << 20) -> Rig:
    rig = Rig(limit=limit)
    await rig.read(ANSWER)
    return rig


async def test_messages_are_taken_out_and_whole_control_frames_are_not_held_up() -> None:
    rig = await upgraded()
    large = message(b"x" * 10_000)
    async with trio.open_nursery() as nursery:
        reads: list[bytes] = []

        async def read() -> None:
            while True:
                reads.append(await rig.tap.receive_some())

        nursery.start_soon(read)
        for at in range(len(large)):
            rig.inward.put_data(large[at : at + 1])
            await trio.testing.wait_all_tasks_blocked()
        assert reads == []
        assert rig.tap.take(9) == (b"x" * 10_000,)
        ping = bytes(FRAMES.ping())
        rig.inward.put_data(ping + message(b"half")[:3])
        await trio.testing.wait_all_tasks_blocked()
        assert reads == [ping]
        assert rig.tap.take(9) == ()
        nursery.cancel_scope.cancel()


async def test_what_came_before_a_violation_is_taken_and_the_library_hears_of_the_end() -> None:
    rig = await upgraded(limit=100)
    assert await rig.read(message(b"good") + message(b"x" * 101)) == b""
    assert rig.tap.take(9) == (b"good",)
    assert rig.tap.ended.is_set()
    assert rig.tap.fault is not None
    assert rig.tap.fault.code == 1009


async def test_who_waits_for_a_message_is_woken_by_one_or_by_the_end() -> None:
    rig = await upgraded()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.tap.receive_some)
        rig.inward.put_data(message(b"1") + message(b"2") + message(b"3"))
        await rig.tap.wait_message()
        await rig.tap.wait_message()
        assert rig.tap.take(2) == (b"1", b"2")
        assert rig.tap.take(2) == (b"3",)
        assert rig.tap.meter.frames_in == 3
        nursery.start_soon(rig.tap.wait_message)
        await trio.testing.wait_all_tasks_blocked()
        rig.tap.finish()
        await rig.tap.wait_message()
        assert rig.tap.take(2) == ()
        nursery.cancel_scope.cancel()


async def test_what_nobody_will_read_is_not_kept() -> None:
    rig = await upgraded()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.tap.receive_some)
        rig.inward.put_data(message(b"before"))
        await trio.testing.wait_all_tasks_blocked()
        rig.tap.discard()
        rig.inward.put_data(message(b"after"))
        await trio.testing.wait_all_tasks_blocked()
        assert not rig.tap.guard.taken
        nursery.cancel_scope.cancel()


@pytest.mark.limit(
    "transports/websocket_tap.UNREAD_BYTES", "transports/websocket_tap.UNREAD_MESSAGES"
)
@pytest.mark.parametrize("payload", [b"", b"x" * (1 << 20)])
async def test_unread_messages_are_bounded(payload: bytes, autojump_clock: MockClock) -> None:
    rig = await upgraded()
    async with trio.open_nursery() as nursery:

        async def read() -> None:
            while True:
                await rig.tap.receive_some()

        nursery.start_soon(read)
        for _ in range(UNREAD_MESSAGES * 2 if not payload else 8):
            rig.inward.put_data(message(payload))
            await trio.testing.wait_all_tasks_blocked()
        waiting = len(rig.tap.guard.taken)
        assert rig.tap.stalled
        assert waiting == (UNREAD_BYTES // len(payload) if payload else UNREAD_MESSAGES)
        await trio.sleep(3)
        rig.tap.take(1)
        await trio.testing.wait_all_tasks_blocked()
        assert rig.tap.resumed == trio.current_time()
        rig.tap.discard()
        await trio.testing.wait_all_tasks_blocked()
        assert not rig.tap.stalled
        nursery.cancel_scope.cancel()


@pytest.mark.limit("transports/websocket_tap.MORE", "transports/websocket_tap.LARGE")
async def test_behind_a_full_read_of_large_messages_more_is_read_at_a_time() -> None:
    rig = await upgraded()
    asked: list[int | None] = []
    read = rig.inward.receive_some

    async def noted(most: int | None = None) -> bytes | bytearray:
        asked.append(most)
        return await read(most)

    rig.inward.receive_some = noted  # type: ignore[method-assign]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.tap.receive_some)
        for many, size in ((READ // LARGE, LARGE), (MORE // LARGE, LARGE), (500, 200), (65, 1000)):
            await trio.testing.wait_all_tasks_blocked()
            rig.inward.put_data(message(b"x" * (size - 4)) * many)
            await trio.testing.wait_all_tasks_blocked()
            assert len(rig.tap.take(UNREAD_MESSAGES)) == many
        rig.inward.put_eof()
    assert asked == [READ, MORE, MORE, READ, READ]


async def test_writes_are_whole_and_none_follows_a_close_frame() -> None:
    rig = await upgraded()
    await rig.tap.write(message(b"a"), 1)
    await rig.tap.send_all(FRAMES.pong())
    await rig.tap.send_all(FRAMES.close(1000))
    assert rig.tap.close_sent
    with pytest.raises(trio.ClosedResourceError):
        await rig.tap.write(message(b"b"), 1)
    sent = message(b"a") + FRAMES.pong() + FRAMES.close(1000)
    assert rig.outward.get_data_nowait() == sent
    figures = rig.tap.meter.snapshot()
    assert (figures.frames_out, figures.bytes_out) == (1, len(sent))


class Stuck(trio.abc.Stream):
    """Takes so many bytes, then no more."""

    def __init__(self, takes: int = 1) -> None:
        self.takes = takes
        self.took = b""
        self.closed = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.took += bytes(data[: self.takes])
        await trio.sleep_forever()

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.sleep_forever()
        return b""

    async def aclose(self) -> None:
        self.closed = True
        await trio.lowlevel.checkpoint()


class Doled(Stuck):
    """Takes one byte each time that it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.send, self.granted = trio.open_memory_channel[None](1000)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        for byte in bytes(data):
            await self.granted.receive()
            self.took += bytes((byte,))


async def test_fault_4_a_control_frame_comes_between_frames_and_never_inside_one() -> None:
    doled = Doled()
    tap = Tap(doled, Guard(masked=False, binary=True, limit=9), Meter(), client=True)
    first, second, pong = message(b"one"), message(b"two"), FRAMES.pong(b"alive")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tap.write, first, 1)
        await trio.testing.wait_all_tasks_blocked()
        doled.send.send_nowait(None)
        await trio.testing.wait_all_tasks_blocked()
        assert doled.took == first[:1]
        nursery.start_soon(tap.send_all, pong)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(tap.write, second, 1)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(len(first + second + pong) - 1):
            doled.send.send_nowait(None)
    assert doled.took == first + pong + second


async def test_a_cut_write_ends_the_stream_and_a_cut_wait_does_not() -> None:
    stuck = Stuck()
    tap = Tap(stuck, Guard(masked=False, binary=True, limit=9), Meter(), client=True)
    async with trio.open_nursery() as nursery:
        first = trio.CancelScope()

        async def write(scope: trio.CancelScope) -> None:
            with scope:
                await tap.write(b"abc", 1)

        nursery.start_soon(write, first)
        second = trio.CancelScope()
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(write, second)
        await trio.testing.wait_all_tasks_blocked()
        second.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert not stuck.closed
        assert tap.fault is None
        first.cancel()
    assert stuck.closed
    assert stuck.took == b"a"
    assert tap.fault is not None
    assert "cut in the middle" in tap.fault.text
    for call in (tap.send_all(b"\x8a\x00"), tap.write(b"x", 1)):
        with pytest.raises(trio.ClosedResourceError):
            await call
    tap.fail("later")
    assert "cut in the middle" in tap.fault.text


async def test_fault_3_a_cut_at_every_byte_is_the_end_of_the_stream() -> None:
    wire = message(b"one") + message(b"two")
    for offset in range(len(wire)):
        stuck = Stuck(offset)
        tap = Tap(stuck, Guard(masked=False, binary=True, limit=9), Meter(), client=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tap.write, wire, 2)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert stuck.closed
        with pytest.raises(trio.ClosedResourceError):
            await tap.write(wire, 2)
        assert stuck.took == wire[:offset]


async def test_the_library_cannot_close_the_socket() -> None:
    rig = await upgraded()
    await rig.tap.aclose()
    assert rig.tap.ended.is_set()
    await rig.tap.send_all(FRAMES.close(1002))
    await rig.tap.drop()
    with pytest.raises(trio.ClosedResourceError):
        await rig.tap.send_all(b"\x8a\x00")
    with pytest.raises(trio.ClosedResourceError):
        await rig.tap.receive_some()


async def test_a_trickle_moves_one_byte_at_a_time() -> None:
    writes: list[bytes] = []
    rig = await upgraded()

    async def note() -> None:
        writes.append(bytes(rig.outward.get_data_nowait()))

    rig.outward.send_all_hook = note
    rig.tap.piece = 1
    await rig.tap.write(message(b"a"), 1)
    assert writes == [bytes([byte]) for byte in message(b"a")]
