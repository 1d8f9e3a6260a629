from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from fleetgate.transports.api import Link, LinkBroken, LinkClosed, Options
from fleetgate.transports.faults import (
    MAX_DELAY,
    REORDER_HOLD,
    Faults,
    FaultyLink,
    Trickling,
    Way,
    combined,
)
from fleetgate.transports.framing import make_framer
from fleetgate.transports.memory import MemoryLink, memory_link_pair
from fleetgate.transports.stream import StreamLink
from fleetgate.transports.testing import LinkTraits, check_link, open_link_pair
from fleetgate.transports.websocket_link import WebSocketLink

FRAMES = [b"frame %d" % number for number in range(40)]


def faulty(faults: Faults, seed: int = 7) -> tuple[FaultyLink, MemoryLink]:
    near, far = memory_link_pair(buffer=1000)
    return FaultyLink(near, faults, seed), far


async def drain(link: Link, into: list[bytes]) -> None:
    while True:
        into += await link.receive_some()


async def incoming(faults: Faults, seed: int = 7) -> list[bytes]:
    """What comes of FRAMES, sent from beyond."""
    link, far = faulty(faults, seed)
    await far.send_some(FRAMES)
    await far.close(1000)
    return [frame async for frame in link]


async def outgoing(faults: Faults, seed: int = 7) -> list[bytes]:
    """What goes out of FRAMES."""
    link, far = faulty(faults, seed)
    for at in range(0, len(FRAMES), 3):
        await link.send_some(FRAMES[at : at + 3])
    await link.close(1000)
    return [frame async for frame in far]


@asynccontextmanager
async def make_pair() -> AsyncGenerator[tuple[Link, Link], None]:
    near, far = memory_link_pair(buffer=3)
    yield FaultyLink(near), FaultyLink(far, Faults(delay_ms=5))


async def test_without_faults_it_is_a_link(autojump_clock: MockClock) -> None:
    await check_link(make_pair, LinkTraits(codes=True, cut_spoils=False))


@pytest.mark.parametrize("carry", [incoming, outgoing])
async def test_the_same_seed_gives_the_same_faults(carry) -> None:
    faults = Faults(duplicate=0.2, reorder=0.2, corrupt=0.2, truncate=0.2)
    first = await carry(faults)
    assert await carry(faults) == first
    assert await carry(faults, seed=8) != first
    assert first != FRAMES


@pytest.mark.parametrize("carry", [incoming, outgoing])
async def test_each_fault_does_what_its_name_says(carry) -> None:
    assert await carry(Faults()) == FRAMES
    assert await carry(Faults(duplicate=1)) == [frame for each in FRAMES for frame in (each, each)]
    swapped = await carry(Faults(reorder=0.3))
    assert swapped != FRAMES
    assert sorted(swapped) == sorted(FRAMES)
    assert all(abs(FRAMES.index(frame) - at) <= 1 for at, frame in enumerate(swapped))
    bent = await carry(Faults(corrupt=1))
    for was, now in zip(FRAMES, bent, strict=True):
        turned = [a ^ b for a, b in zip(was, now, strict=True) if a != b]
        assert len(turned) == 1
        assert turned[0].bit_count() == 1
    short = await carry(Faults(truncate=1))
    assert all(was.startswith(now) and was != now for was, now in zip(FRAMES, short, strict=True))


async def test_a_direction_is_left_alone() -> None:
    assert await incoming(Faults(corrupt=1, direction="out")) == FRAMES
    assert await outgoing(Faults(corrupt=1, direction="in")) == FRAMES
    assert await incoming(Faults(corrupt=1, direction="in")) != FRAMES
    assert await outgoing(Faults(corrupt=1, direction="out")) != FRAMES


async def test_a_lone_frame_is_not_held_back_for_ever(autojump_clock: MockClock) -> None:
    link, far = faulty(Faults(reorder=1, direction="in"))
    start = trio.current_time()
    await far.send(b"alone")
    assert await link.receive() == b"alone"
    assert trio.current_time() == start + REORDER_HOLD


async def test_a_lone_frame_that_goes_out_is_not_held_back_for_ever(
    autojump_clock: MockClock,
) -> None:
    link, far = faulty(Faults(reorder=1, direction="out"))
    start = trio.current_time()
    for frame in (b"alone", b"again"):
        await link.send(frame)
        assert await far.receive() == frame
    assert trio.current_time() == start + REORDER_HOLD  # the second would have overtaken it
    await link.send(b"held")
    link.suffer()
    await link.send(b"mended")
    assert [await far.receive(), await far.receive()] == [b"mended", b"held"]


@pytest.mark.parametrize("way", ["in", "out"])
async def test_a_seed_chooses_the_same_frames_however_long_they_take(
    way: Way, autojump_clock: MockClock
) -> None:
    link, far = faulty(Faults(reorder=0.4, direction=way))
    near, other = (far, link) if way == "in" else (link, far)
    alone: list[int] = []
    for number, frame in enumerate(FRAMES):
        start = trio.current_time()
        await near.send(frame)
        assert await other.receive() == frame
        if trio.current_time() > start:
            alone.append(number)
    together = await (incoming if way == "in" else outgoing)(Faults(reorder=0.4))
    overtaken = [at for at, frame in enumerate(FRAMES) if together.index(frame) > at]
    assert overtaken == [number for number in alone if number + 1 < len(FRAMES)]
    assert overtaken


async def test_who_is_overtaken_is_chosen_anew_when_faults_are_set(
    autojump_clock: MockClock,
) -> None:
    link, far = faulty(Faults(reorder=1, direction="out"))
    await link.send(b"held")
    link.suffer(Faults(reorder=1, direction="out"))
    await link.send_some([b"held, too", b"overtakes"])
    assert [await far.receive() for _ in range(3)] == [b"held", b"overtakes", b"held, too"]


async def test_what_is_held_back_counts_where_a_cut_is_due(autojump_clock: MockClock) -> None:
    link, far = faulty(Faults(reorder=1, drop_after=1, direction="out"))
    await link.send(b"held")
    assert await far.receive() == b"held"
    with pytest.raises(LinkBroken):
        await far.receive()


async def test_what_is_held_back_stays_so_while_a_link_is_half_open(
    autojump_clock: MockClock,
) -> None:
    link, far = faulty(Faults(reorder=1, direction="out"))
    await link.send(b"held")
    link.suffer(Faults(half_open=True))
    await trio.sleep(1)
    link.suffer()
    await link.send(b"mended")
    assert [await far.receive(), await far.receive()] == [b"mended", b"held"]


@pytest.mark.parametrize("passing", [1, 5])
async def test_a_cut_comes_after_so_many_frames(passing: int) -> None:
    link, far = faulty(Faults(drop_after=passing, direction="in"))
    await far.send_some(FRAMES)
    got: list[bytes] = []
    with pytest.raises(LinkBroken, match=f"cut after {passing} frames"):
        await drain(link, got)
    assert got == FRAMES[:passing]
    with pytest.raises(LinkBroken) as caught:
        await far.receive()
    assert caught.value.code == 1006
    link, far = faulty(Faults(drop_after=passing))
    await link.send_some(FRAMES)
    with pytest.raises(LinkBroken, match="cut"):
        await link.send(b"more")
    with pytest.raises(LinkBroken, match="cut"):
        await link.receive()
    with pytest.raises(LinkBroken):
        await drain(far, got)
    assert got == FRAMES[:passing] * 2


async def test_a_cut_while_sending_wakes_the_receiver() -> None:
    link, _far = faulty(Faults(drop_after=1, direction="out"))
    async with trio.open_nursery() as nursery:

        async def read() -> None:
            with pytest.raises(LinkBroken, match="cut after 1"):
                await link.receive()

        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        await link.send(b"a")


async def test_frames_are_late_and_none_is_lost_by_cancelling(autojump_clock: MockClock) -> None:
    link, far = faulty(Faults(delay_ms=500))
    start = trio.current_time()
    await far.send_some([b"a", b"b"])
    with trio.move_on_after(0.4) as scope:
        await link.receive()
    assert scope.cancelled_caught
    assert await link.receive_some() == [b"a", b"b"]
    assert trio.current_time() == start + 0.5
    await link.send(b"c")
    assert trio.current_time() == start + 1.0
    assert await far.receive() == b"c"


async def test_a_slow_reader_takes_its_time_by_the_byte(autojump_clock: MockClock) -> None:
    link, far = faulty(Faults(slow_read=100))
    start = trio.current_time()
    await far.send_some([b"x" * 150, b"x" * 50])
    await link.receive_some()
    assert trio.current_time() == start + 2


async def test_half_open_reads_writes_and_closes_nothing(autojump_clock: MockClock) -> None:
    link, far = faulty(Faults())
    got: list[bytes] = []

    async def read() -> None:
        with pytest.raises(LinkClosed):
            await drain(link, got)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        link.suffer(Faults(half_open=True))
        await far.send(b"unseen")
        await link.send(b"unsent")
        with trio.move_on_after(1000):
            await far.receive()
        assert got == []
        link.suffer()
        await trio.testing.wait_all_tasks_blocked()
        assert got == [b"unseen"]
        link.suffer(Faults(half_open=True))
        await link.close(1000)
    with trio.move_on_after(1000) as silence:
        await far.receive()
    assert silence.cancelled_caught
    await link.release()
    with pytest.raises(LinkBroken):
        await far.receive()


async def test_a_peer_that_ends_is_not_noticed_while_half_open(autojump_clock: MockClock) -> None:
    link, far = faulty(Faults(half_open=True))
    await far.close(1000)
    with trio.move_on_after(1000) as silence:
        await link.receive()
    assert silence.cancelled_caught
    link.suffer()
    with pytest.raises(trio.EndOfChannel):
        await link.receive()


async def test_byte_at_a_time_reaches_the_stream() -> None:
    writes: list[bytes] = []
    outward = trio.testing.MemorySendStream()

    async def note() -> None:
        writes.append(bytes(outward.get_data_nowait()))

    outward.send_all_hook = note
    inward = trio.testing.MemoryReceiveStream()
    framer = make_framer("varint", 100)
    link = FaultyLink(StreamLink(trio.StapledStream(outward, inward), framer))
    link.suffer(Faults(byte_at_a_time=True))
    await link.send(b"ab")
    link.suffer()
    await link.send(b"ab")
    assert writes == [b"\x02", b"a", b"b", b"\x02ab"]


async def test_a_frame_held_back_goes_with_the_close_or_is_lost_with_the_link() -> None:
    link, far = faulty(Faults(reorder=1, direction="out"))
    await link.send(b"held")
    await link.close(1000)
    assert [frame async for frame in far] == [b"held"]
    link, far = faulty(Faults(reorder=1, direction="out"))
    await link.send(b"held")
    await far.close(1000)
    await link.close(1000)
    assert link.statistics().frames_out == 0


def test_byte_links_can_trickle_and_memory_has_no_bytes() -> None:
    assert issubclass(StreamLink, Trickling)
    assert issubclass(WebSocketLink, Trickling)
    assert not issubclass(MemoryLink, Trickling)


@given(st.floats().filter(lambda p: not 0 <= p <= 1))
def test_a_probability_is_one(value: float) -> None:
    for name in ("duplicate", "reorder", "corrupt", "truncate"):
        with pytest.raises(ValueError, match=name):
            Faults(**{name: value})


def test_a_count_is_one() -> None:
    for name in ("drop_after", "slow_read"):
        with pytest.raises(ValueError, match=name):
            Faults(**{name: 0})


async def test_an_answer_is_lost_and_nothing_else() -> None:
    def is_answer(way: str, frame: bytes) -> bool:
        return frame.endswith(b"7")

    near, far = memory_link_pair(buffer=1000)
    link = FaultyLink(near, Faults(lose_ack=1, direction="out"), is_answer=is_answer)
    await far.send_some(FRAMES)
    assert list(await link.receive_some()) == FRAMES  # the other way
    await link.send_some(FRAMES)
    await link.close(1000)
    assert [frame async for frame in far] == [each for each in FRAMES if not each.endswith(b"7")]


async def test_sets_of_faults_add_up_each_in_its_direction() -> None:
    link, far = faulty(Faults())
    link.suffer(Faults(duplicate=1, direction="out"), Faults(drop_after=3, direction="in"))
    await link.send_some(FRAMES[:2])
    assert list(await far.receive_some()) == [FRAMES[0], FRAMES[0], FRAMES[1], FRAMES[1]]
    await far.send_some(FRAMES)
    got: list[bytes] = []
    with pytest.raises(LinkBroken, match="cut after 3"):
        await drain(link, got)
    assert got == FRAMES[:3]


def test_of_the_same_fault_the_last_holds() -> None:
    given = (
        Faults(corrupt=0.1, slow_read=5, direction="out"),
        Faults(corrupt=0.2, drop_after=4),
        Faults(truncate=0.3, direction="in"),
    )
    assert combined(given, "out") == Faults(corrupt=0.2, drop_after=4)
    assert combined(given, "in") == Faults(corrupt=0.2, truncate=0.3, drop_after=4, slow_read=5)
    assert combined((), "in") == Faults()


async def test_frames_are_counted_anew_when_faults_are_set() -> None:
    link, far = faulty(Faults(drop_after=5))
    await link.send_some(FRAMES[:4])
    link.suffer(Faults(drop_after=2))
    await link.send_some(FRAMES[:3])
    got: list[bytes] = []
    with pytest.raises(LinkBroken):
        await drain(far, got)
    assert got == [*FRAMES[:4], *FRAMES[:2]]


@given(
    st.integers(),
    st.lists(st.binary(max_size=6), max_size=20),
    st.lists(st.integers(0, 20), max_size=4),
    st.tuples(*[st.sampled_from([0.0, 0.3, 1.0])] * 4),
)
def test_the_same_seed_and_frames_give_the_same_faults_however_they_are_batched(
    seed: int, frames: list[bytes], cuts: list[int], chances: tuple[float, ...]
) -> None:
    duplicate, corrupt, truncate, lose = chances
    faults = Faults(duplicate=duplicate, corrupt=corrupt, truncate=truncate, lose_ack=lose)

    async def carried(batches: list[list[bytes]]) -> list[bytes]:
        near, far = memory_link_pair(buffer=1000)
        link = FaultyLink(near, faults, seed, lambda way, frame: len(frame) > 3)
        for batch in batches:
            await link.send_some(batch)
        await link.close(1000)
        return [frame async for frame in far]

    edges = sorted({0, len(frames), *(cut for cut in cuts if cut < len(frames))})
    batches = [frames[a:b] for a, b in itertools.pairwise(edges)]
    assert trio.run(carried, batches) == trio.run(carried, [frames])


async def test_what_a_text_carriage_cannot_hold_is_lost_and_the_link_lives() -> None:
    async with open_link_pair("ws://127.0.0.1:0/x", Options(binary=False)) as (near, far):
        link = FaultyLink(near, Faults(corrupt=1, direction="out"), seed=3)
        for number in range(20):
            await link.send(b"%d" % number * 3)
        link.suffer()
        await link.send(b"whole")
        got = [await far.receive()]
        while got[-1] != b"whole":
            got.append(await far.receive())
        assert 1 < len(got) < 21


def test_a_delay_is_none_or_a_day_at_most() -> None:
    for wrong in (-1, MAX_DELAY + 1, 10**400):
        with pytest.raises(ValueError, match="delay_ms is 0 to 86400000"):
            Faults(delay_ms=wrong)
