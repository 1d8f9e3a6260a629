"""Following a run."""

from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    kinds,
    read_until,
    started,
)
from fleetgate.core.ids import Seq
from fleetgate.core.slots import TAIL_ITEMS


async def test_I8_followers_read_from_their_own_cursor(hub: Hub, worker: HandWorker) -> None:
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
