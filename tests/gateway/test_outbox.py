"""The frames that one link still has to send."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.outbox import BATCH_FRAMES, BATCH_SIZE, HIGH_FRAMES, HIGH_SIZE, Outbox
from fleetgate.transports.api import Pack


@pytest.mark.limit("gateway/outbox.BATCH_FRAMES")
async def test_frames_come_out_in_order_and_in_batches() -> None:
    outbox = Outbox()
    frames = [str(n).encode() for n in range(BATCH_FRAMES + 10)]
    for frame in frames:
        outbox.put(frame)
    first = await outbox.take()
    assert not outbox.idle
    outbox.sent()
    second = await outbox.take()
    outbox.sent()
    assert [*first, *second] == frames
    assert len(first) == BATCH_FRAMES
    assert outbox.idle


async def test_several_put_together_are_those_put_one_by_one() -> None:
    outbox = Outbox()
    outbox.put(b"1")
    outbox.put_all([b"2", b"3"])
    outbox.put_all([])
    assert await outbox.take() == [b"1", b"2", b"3"]
    outbox.sent()
    assert outbox.idle
    outbox.put_all([bytes(HIGH_SIZE // 2)] * 2)
    assert outbox.full


async def test_a_pack_that_is_alone_comes_out_as_it_came() -> None:
    outbox, pack = Outbox(), Pack([b"1", b"2"])
    outbox.put_all(pack)
    assert not outbox.idle
    assert await outbox.take() is pack
    assert not outbox.idle
    outbox.sent()
    assert outbox.idle


async def test_a_pack_among_others_is_its_frames() -> None:
    outbox, pack = Outbox(), Pack([b"2", b"3"])
    outbox.put(b"1")
    outbox.put_all(pack)
    assert await outbox.take() == [b"1", b"2", b"3"]
    outbox.put_all(pack)
    outbox.put(b"4")
    outbox.put_all(pack)
    assert await outbox.take() == [b"2", b"3", b"4", b"2", b"3"]
    event = trio.Event()
    event.set()
    outbox.put_all(pack)
    outbox.bar(event)
    outbox.put_all(pack)
    assert [await outbox.take(), await outbox.take()] == [[b"2", b"3"], [b"2", b"3"]]
    outbox.sent()
    assert outbox.idle


async def test_a_pack_that_no_write_takes_goes_in_parts() -> None:
    outbox = Outbox()
    outbox.put_all(Pack([bytes(BATCH_SIZE)] * 3))
    assert [len(await outbox.take()) for _ in range(3)] == [1, 1, 1]
    outbox.put_all(Pack([b"x"] * (BATCH_FRAMES + 1)))
    assert [len(await outbox.take()) for _ in range(2)] == [BATCH_FRAMES, 1]
    outbox.put_all(Pack([b"x"] * HIGH_FRAMES))
    assert outbox.full
    outbox.put_all(Pack())
    assert sum([len(await outbox.take()) for _ in range(4)]) == HIGH_FRAMES


async def test_nothing_passes_a_barrier_before_it_is_set() -> None:
    outbox, barrier = Outbox(), trio.Event()
    outbox.put(b"before")
    outbox.bar(barrier)
    outbox.put(b"behind")
    assert await outbox.take() == [b"before"]
    outbox.sent()
    taken: list[bytes] = []

    async def take() -> None:
        taken.extend(await outbox.take())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        await wait_all_tasks_blocked()
        assert taken == []
        barrier.set()
    assert taken == [b"behind"]


@pytest.mark.limit("gateway/outbox.HIGH_FRAMES", "gateway/outbox.HIGH_SIZE")
async def test_I9_it_is_full_by_frames_and_by_bytes_and_waiting_ends_when_it_is_not() -> None:
    for frame, count in ((b"x", HIGH_FRAMES), (bytes(HIGH_SIZE), 1)):
        outbox = Outbox()
        for _ in range(count):
            assert not outbox.full
            outbox.put(frame)
        assert outbox.full
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outbox.wait_room)
            await wait_all_tasks_blocked()
            assert nursery.child_tasks
            while not outbox.idle:
                await outbox.take()
                outbox.sent()


async def test_waiting_for_idle_waits_for_what_is_being_sent() -> None:
    outbox = Outbox()
    await outbox.wait_idle()
    outbox.put(b"x")
    await outbox.take()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.wait_idle)
        await wait_all_tasks_blocked()
        assert nursery.child_tasks
        outbox.sent()


async def test_a_barrier_with_nothing_behind_it_leaves_it_idle() -> None:
    outbox, barrier = Outbox(), trio.Event()
    outbox.bar(barrier)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.take)
        async with trio.open_nursery() as waiting:
            waiting.start_soon(outbox.wait_idle)
            await wait_all_tasks_blocked()
            assert waiting.child_tasks
            barrier.set()
        nursery.cancel_scope.cancel()


@pytest.mark.limit("gateway/outbox.BATCH_SIZE")
async def test_i9_a_batch_is_bounded_in_bytes_and_one_frame() -> None:
    outbox = Outbox()
    outbox.put_all([bytes(BATCH_SIZE // 2)] * 3)
    outbox.put(bytes(BATCH_SIZE * 3))
    sizes: list[int] = []
    while not outbox.idle:
        sizes.append(sum(map(len, await outbox.take())))
        outbox.sent()
    assert sizes == [BATCH_SIZE, BATCH_SIZE // 2 + BATCH_SIZE * 3]
