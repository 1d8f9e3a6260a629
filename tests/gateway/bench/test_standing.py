"""What a hub stands among."""

from __future__ import annotations

from pathlib import Path

import trio

from fleetgate.core.answers import RunList, WorkerList
from fleetgate.core.commands import ListRuns, ListWorkers
from fleetgate.core.hub_testing import describe
from fleetgate.gateway.bench.standing import batched, open_standing


async def test_it_has_what_was_asked_for(tmp_path: Path) -> None:
    async with open_standing(tmp_path / "journal.db") as standing, trio.open_nursery() as nursery:
        run = await standing.run("long")
        await standing.say(run, 100)
        assert (await describe(standing.hub, run)).last_seq >= 100
        await standing.open_runs(7)
        runs = await standing.hub.submit(ListRuns(None, open_only=True))
        assert isinstance(runs, RunList)
        assert len(runs.runs) == 8
        await standing.idle_workers(5)
        workers = await standing.hub.submit(ListWorkers())
        assert isinstance(workers, WorkerList)
        assert len(workers.workers) == 6
        await standing.follow(run, 3, nursery)
        assert len(nursery.child_tasks) == 3
        nursery.cancel_scope.cancel()


def test_some_at_a_time() -> None:
    assert list(batched(range(5), 2)) == [(0, 1), (2, 3), (4,)]
