"""Following a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import MAX_BODY, Recorded
from fleetgate.core.follow import BATCH_ITEMS, BATCH_SIZE
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    hub_on,
    kinds,
    read_until,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import JournalConflict
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.slots import TAIL_ITEMS


async def test_I8_fault_29_followers_read_from_their_own_cursor(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    last = 2 * TAIL_ITEMS  # all at once they are more than the tail holds
    seen: dict[int, list[int]] = {0: [], 2: [], 1000: [], last - 3: []}

    async def follow(after: int) -> None:
        with hub.follow(run, Seq(after)) as follower:
            async for batch in follower:
                seen[after] += [each.seq for each in batch]

    async with trio.open_nursery() as nursery:
        for after in seen:
            nursery.start_soon(follow, after)
        for seq in range(1, last):
            worker.record(run, e.TextProduced("x"), seq=seq)
            if seq % 1000 == 0:
                await wait_all_tasks_blocked()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    for after, numbers in seen.items():
        assert numbers == list(range(after + 1, last + 1))


async def test_a_run_that_is_durable_and_not_yet_accepted_is_followed_once_it_is(
    autojump_clock: MockClock,
) -> None:
    """Found by `just chaos-seeds --pair rvbox-agency --seed 101`: a host's new link read the run
    from the journal while its commit was being answered, and never heard of it."""
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            refused = await store(groups)
            await trio.sleep(1)
            return refused

        journal.store = slow  # type: ignore[method-assign]
        run = start_run().run
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hub.submit, start_run())
            await trio.sleep(0.5)
            assert await journal.get(run) is not None
            with trio.fail_after(60):
                seen = await read_until(hub, run, 1)
        assert [each.seq for each in seen] == [1]


async def test_a_follower_of_an_ended_run_reads_it_all_and_waits(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, DONE)
    await read_until(hub, run, 2)
    await wait_all_tasks_blocked()
    events = await read_until(hub, run, 2)
    assert kinds(events) == ["RunAssigned", "RunFinished"]
    with trio.move_on_after(0.05) as scope, hub.follow(run, Seq(2)) as follower:
        await follower.__anext__()
    assert scope.cancelled_caught


async def test_who_follows_a_run_that_has_lost_its_last_events_is_told_so(
    autojump_clock: MockClock,
) -> None:
    """It read the journal for them again and again, in no time, for as long as it followed."""
    async with open_memory_journal() as journal:
        async with hub_on(journal) as hub:
            worker = HandWorker(hub, worker_info())
            await worker.join()
            run = await started(hub)
            worker.record(run, e.TextProduced("a"), e.TextProduced("b"), seq=1)
            await read_until(hub, run, 3)
        read, asked = journal.read, list[Seq]()

        async def lossy(run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
            asked.append(after)
            assert len(asked) < 10, "it spins"
            return [r for r in await read(run, after, items=items, size=size) if r.seq < 3]

        journal.read = lossy  # type: ignore[method-assign]
        async with hub_on(journal) as hub:
            with hub.follow(run, Seq(0)) as follower:
                assert [each.seq for each in await follower.__anext__()] == [1, 2]
                with pytest.raises(Unavailable, match="event 3 is missing") as caught:
                    await follower.__anext__()
        assert caught.value.lasting
        assert asked == [0, 2]


async def test_a_follower_has_caught_up_with_the_last_commit(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    follower = hub.follow(run, Seq(0))
    assert not follower.caught_up  # it has not looked yet
    with follower:
        assert not follower.caught_up
        await follower.__anext__()
        assert follower.caught_up
        worker.record(run, DONE)
        await wait_all_tasks_blocked()
        assert not follower.caught_up
        await follower.__anext__()
        assert follower.caught_up
    with hub.follow(run, Seq(0)) as late:
        await late.__anext__()
        assert not await late.take()
        assert late.caught_up


@pytest.mark.limit("core/follow.BATCH_ITEMS", "core/follow.BATCH_SIZE")
@pytest.mark.parametrize(
    ("size", "events", "first"),
    [(1, BATCH_ITEMS + 40, BATCH_ITEMS), (MAX_BODY, 40, BATCH_SIZE // MAX_BODY)],
)
async def test_i9_a_delivery_is_bounded_in_events_and_bytes(
    hub: Hub, worker: HandWorker, size: int, events: int, first: int
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    for seq in range(1, events):
        worker.record(run, e.TextProduced("x" * size), seq=seq)
    await read_until(hub, run, events)
    with hub.follow(run, Seq(0)) as follower:
        batch = await follower.take()
    assert first - 1 <= len(batch) <= first
