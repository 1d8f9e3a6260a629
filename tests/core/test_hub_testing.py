"""The hub to test with is a hub like any other."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core.errors import NoRoute
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    POOL,
    HandWorker,
    OneWay,
    TrioClock,
    describe,
    read_until,
    start_run,
    worker_info,
)
from fleetgate.core.times import SECOND


async def test_its_clock_passes_as_trios_does(mock_clock: MockClock) -> None:
    clock = TrioClock()
    before = clock()
    mock_clock.jump(7)
    assert clock() - before == pytest.approx(7 * SECOND, abs=1000)


def test_all_runs_go_one_way_but_from_links_that_are_closed() -> None:
    spec = c.RunSpec(c.Prompt("x"))
    assert OneWay("b").route("a", spec) == (POOL, spec)
    with pytest.raises(NoRoute):
        OneWay("b").route("b", spec)


async def test_a_worker_made_by_hand_is_admitted_and_given_runs(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info("me", grace=5))
    admission = await worker.join()
    assert (worker.epoch, admission.held, worker.info.grace) == (1, (), 5)
    command = start_run()
    await hub.submit(command)
    (assigned,) = await read_until(hub, command.run, 1)
    assert assigned.seq == 1
    assert (await describe(hub, command.run)).worker == worker.info.id
