from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MemoryReceiveStream, MemorySendStream, lockstep_stream_pair

from fleetgate.transports.api import FrameTooLong, Link, LinkBroken, Pack
from fleetgate.transports.framing import make_framer
from fleetgate.transports.stream import CHUNK, READ, StreamLink, coalesce, lost
from fleetgate.transports.testing import LinkTraits, check_link

LIMIT = 1000


def link_over(stream: trio.abc.Stream, framing: str = "kind", linger: bool = False) -> StreamLink:
    return StreamLink(stream, make_framer(framing, LIMIT), linger=linger)


class Wire:
    """The far end of a link as bare bytes, and a log of its writes."""

    def __init__(self) -> None:
        self.inward = MemoryReceiveStream()
        self.writes: list[bytes] = []
        self.outward = MemorySendStream(send_all_hook=self._note)
        self.link = link_over(trio.StapledStream(self.outward, self.inward))

    async def _note(self) -> None:
        self.writes.append(bytes(self.outward.get_data_nowait()))


async def test_a_read_hands_up_all_its_frames_at_once() -> None:
    wire = Wire()
    wire.inward.put_data(b"\x00\x00\x00\x02\x00a" * 3 + b"\x00\x00")
    assert await wire.link.receive_some() == [b"\x00a"] * 3
    wire.inward.put_data(b"\x00\x02\x00b\x00\x00\x00\x02\x00c")
    assert await wire.link.receive() == b"\x00b"
    assert await wire.link.receive_some() == (b"\x00c",)
    figures = wire.link.statistics()
    assert (figures.frames_in, figures.bytes_in) == (5, 30)


async def test_small_frames_go_out_together() -> None:
    wire = Wire()
    await wire.link.send_some([b"\x00a", b"\x00b", b"\x00c"])
    assert wire.writes == [b"\x00\x00\x00\x02\x00a\x00\x00\x00\x02\x00b\x00\x00\x00\x02\x00c"]
    await wire.link.send_some([])
    assert len(wire.writes) == 1
    figures = wire.link.statistics()
    assert (figures.frames_out, figures.bytes_out) == (3, 18)


async def test_a_pack_goes_out_as_its_frames_and_is_encoded_once_for_all_of_one_form() -> None:
    frames = [b"\x00a", b"\x00b"]
    one, other, plain = Wire(), Wire(), Wire()
    pack = Pack(frames)
    await plain.link.send_some(frames)
    for wire in (one, other):
        await wire.link.send_some(pack)
        assert wire.writes == plain.writes
        assert wire.link.statistics().frames_out == 2
    assert len(pack.carried) == 1


async def test_a_pack_with_a_frame_that_is_too_long_is_sent_to_nobody() -> None:
    pack = Pack([b"\x00a", b"\x00" * (LIMIT + 1)])
    for _ in range(2):
        wire = Wire()
        with pytest.raises(FrameTooLong):
            await wire.link.send_some(pack)
        assert wire.writes == []
    assert not pack.carried


@pytest.mark.limit("transports/stream.CHUNK")
def test_a_chunk_is_bounded_and_a_frame_is_never_split() -> None:
    small, large = b"s" * 100_000, b"l" * (CHUNK + 1)
    chunks = list(coalesce([small, small, small, large, small]))
    assert [(count, len(chunk)) for count, chunk in chunks] == [
        (2, 200_000),
        (1, 100_000),
        (1, CHUNK + 1),
        (1, 100_000),
    ]
    assert chunks[2][1] is large


async def test_nothing_goes_out_when_one_of_the_batch_is_too_long() -> None:
    wire = Wire()
    with pytest.raises(FrameTooLong):
        await wire.link.send_some([b"\x00a", b"\x00" * (LIMIT + 1)])
    await wire.link.send(b"\x00b")
    assert wire.writes == [b"\x00\x00\x00\x02\x00b"]


async def test_what_is_no_frame_breaks_receiving_and_answers_still_go_out() -> None:
    wire = Wire()
    wire.inward.put_data(b"\x00\x00\x00\x02\x00a" + b'{"request_id"')
    assert await wire.link.receive_some() == (b"\x00a",)
    for _ in range(2):
        with pytest.raises(LinkBroken, match="the limit is 1000"):
            await wire.link.receive_some()
    await wire.link.send(b"\x00no")
    assert wire.writes == [b"\x00\x00\x00\x03\x00no"]


async def test_an_end_between_frames_is_in_order_and_inside_one_is_not() -> None:
    wire = Wire()
    wire.inward.put_data(b"\x00\x00\x00\x02\x00a")
    wire.inward.put_eof()
    assert await wire.link.receive() == b"\x00a"
    for _ in range(2):
        with pytest.raises(trio.EndOfChannel):
            await wire.link.receive()
    await wire.link.send(b"\x00still")
    cut = Wire()
    cut.inward.put_data(b"\x00\x00\x00\x02\x00")
    cut.inward.put_eof()
    with pytest.raises(LinkBroken, match="in the middle of a frame"):
        await cut.link.receive()


class Narrow(trio.abc.Stream):
    """Takes so many bytes, and then no more until it is closed."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.took = b""
        self.closed = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        for byte in bytes(data):
            if self.closed:
                raise trio.ClosedResourceError
            while len(self.took) == self.takes:
                await trio.sleep_forever()
            self.took += bytes([byte])
            await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.sleep_forever()
        return b""

    async def aclose(self) -> None:
        self.closed = True
        await trio.lowlevel.checkpoint()


async def test_fault_3_a_cut_at_every_byte_is_the_end_of_the_link() -> None:
    frames = [b"\x00one", b"\x00two", b"\x00three"]
    wire = b"".join(make_framer("kind", LIMIT).encode(frame) for frame in frames)
    for offset in range(len(wire)):
        stream = Narrow(offset)
        link = link_over(stream)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.send_some, frames)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        assert stream.closed, "the peer must see the end, not wait for the rest"
        stream.takes = len(wire) + 100
        with pytest.raises(LinkBroken, match="cut in the middle of a frame"):
            await link.send(b"\x00four")
        assert stream.took == wire[:offset], "bytes went out behind half a frame"


async def test_a_send_cancelled_before_it_began_changes_nothing() -> None:
    wire = Wire()
    with trio.CancelScope() as scope:
        scope.cancel()
        await wire.link.send(b"\x00a")
    assert scope.cancelled_caught
    await wire.link.send(b"\x00b")
    assert wire.writes == [b"\x00\x00\x00\x02\x00b"]


async def test_one_task_sends_and_one_receives() -> None:
    near, _far = lockstep_stream_pair()
    link = link_over(near)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.send, b"\x00a")
        nursery.start_soon(link.receive_some)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError, match="sends"):
            await link.send(b"\x00b")
        with pytest.raises(trio.BusyResourceError, match="receives"):
            await link.receive_some()
        nursery.cancel_scope.cancel()


async def test_fault_12_closing_has_a_deadline(autojump_clock: trio.testing.MockClock) -> None:
    stream = Narrow(3)
    link = link_over(stream, linger=True)
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.send, b"\x00a")
        await trio.testing.wait_all_tasks_blocked()
        await link.close(1000)
        assert trio.current_time() == start + 5.0
        assert stream.closed
        nursery.cancel_scope.cancel()


async def test_closing_hears_the_peer_out_and_can_be_hurried(
    autojump_clock: trio.testing.MockClock,
) -> None:
    for hurry in (False, True):
        near, far = lockstep_stream_pair()
        link = link_over(near, linger=True)
        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.close, 1000)
            await trio.testing.wait_all_tasks_blocked()
            if hurry:
                await link.close(None)
            else:
                assert await far.receive_some() == b""
                await far.send_all(b"what was on its way")
                await far.aclose()
        assert trio.current_time() == start


async def test_a_trickle_moves_one_byte_at_a_time() -> None:
    wire = Wire()
    wire.link.trickle(1)
    await wire.link.send(b"\x00a")
    assert wire.writes == [bytes([byte]) for byte in b"\x00\x00\x00\x02\x00a"]
    wire.inward.put_data(b"\x00\x00\x00\x02\x00a" * 2)
    assert await wire.link.receive_some() == [b"\x00a"]


async def test_a_stream_closed_under_the_link_is_a_broken_link() -> None:
    near, _far = lockstep_stream_pair()
    link = link_over(near)
    await near.aclose()
    with pytest.raises(LinkBroken, match="closed under the link"):
        await link.receive()
    with pytest.raises(LinkBroken, match="closed under the link"):
        await link.send(b"\x00a")
    await link.aclose()


def test_a_loss_is_told_in_the_systems_words() -> None:
    error = trio.BrokenResourceError()
    assert lost(error) == "the connection was lost"
    error.__cause__ = ConnectionResetError(104, "Connection reset by peer")
    assert lost(error) == "the connection was lost: Connection reset by peer"


@asynccontextmanager
async def make_pair() -> AsyncGenerator[tuple[Link, Link], None]:
    near, far = (StreamLink(end, make_framer("varint", 1 << 20)) for end in lockstep_stream_pair())
    yield near, far
    await near.close(None)
    await far.close(None)


async def test_it_is_a_link(autojump_clock: trio.testing.MockClock) -> None:
    await check_link(make_pair, LinkTraits())


@pytest.mark.limit("transports/stream.READ")
async def test_i9_so_much_is_read_at_a_time() -> None:
    wire = Wire()
    asked: list[int | None] = []
    read = wire.inward.receive_some

    async def noted(most: int | None = None) -> bytes | bytearray:
        asked.append(most)
        return await read(most)

    wire.inward.receive_some = noted  # type: ignore[method-assign]
    wire.inward.put_data(b"\x00\x00\x00\x02\x00a" * READ)
    assert len(await wire.link.receive_some()) == READ // 6
    assert asked == [READ]
