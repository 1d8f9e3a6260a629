"""How far a run's events have got."""

from __future__ import annotations

import pytest
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import DONE, HandWorker, describe, hub_on, read_until, started
from fleetgate.core.ids import Seq
from fleetgate.core.journal.api import Journal
from fleetgate.core.ladder import Standing
from fleetgate.core.passages import ACKNOWLEDGED, STORED


async def test_each_rung_of_a_run_that_is_open(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    with hub.follow(run, Seq(0)) as follower:
        await follower.__anext__()
        worker.record(run, e.TextProduced("a"), e.TextProduced("b"), seq=7)
        ladder = hub.ladders.standing(await describe(hub, run))
        assert (ladder.received, ladder.native_received) == (3, 7)
        assert ladder.stored in (1, 3)  # as fast as the journal is
        await read_until(hub, run, 3)
        await hub.acknowledge(run, 2)
        await wait_all_tasks_blocked()
        ladder = hub.ladders.standing(await describe(hub, run))
        assert ladder == Standing(Seq(3), Seq(3), 3, Seq(2), 7, 7)
    assert hub.ladders.standing(await describe(hub, run)).sent is None


async def test_a_run_that_has_ended_stands_as_its_row_says(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, DONE, seq=4)
    await read_until(hub, run, 2)
    await wait_all_tasks_blocked()
    await hub.acknowledge(run, 1 << 60)
    ladder = hub.ladders.standing(await describe(hub, run))
    assert ladder == Standing(Seq(2), Seq(2), None, Seq(2), 4, 4)
    passages = hub.ladders.passages
    assert passages.when(run, STORED, 2) is not None
    assert passages.when(run, ACKNOWLEDGED, 2) is not None


async def test_where_a_worker_came_in_is_known_without_a_link(hub: Hub, worker: HandWorker) -> None:
    """As a worker of the gateway's own does."""
    found = hub.ladders.passages.link(worker.info.id, worker.epoch)
    assert found == (worker.info.pool, "")


async def test_one_event(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    worker.record(run, e.TextProduced("a"), seq=1)
    await read_until(hub, run, 2)
    seen = await describe(hub, run)
    found = await hub.ladders.event(seen, 2)
    assert found is not None
    assert (found.seq, found.event) == (2, e.TextProduced("a"))
    for seq in (0, 3):
        with pytest.raises(InvalidArgument, match=f"has events 1 to 2; {seq} came"):
            await hub.ladders.event(seen, seq)


async def test_a_restart_forgets_times_and_no_rung_that_is_kept(journal: Journal) -> None:
    async with hub_on(journal) as hub:
        run = await started(hub)
        await hub.acknowledge(run, 0)
        before = hub.ladders.standing(await describe(hub, run))
    async with hub_on(journal) as hub:
        assert hub.ladders.standing(await describe(hub, run)) == before
        assert hub.ladders.passages.when(run, STORED, 1) is None
