"""Which trials there are, and in which order."""

from __future__ import annotations

from itertools import groupby

import pytest

from fleetgate.gateway.bench.plan import PLAN, QUICK, Plan, Trial
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task

PLANS = pytest.mark.parametrize("plan", [PLAN, QUICK])


@PLANS
def test_relays_and_bridge_take_turns_at_the_same_task(plan: Plan) -> None:
    trials = list(plan.trials())
    groups = [list(group) for _, group in groupby(trials, lambda trial: trial.pair)]
    assert [group[0].pair for group in groups] == list(range(1, len(groups) + 1))
    for group in groups:
        assert len({trial.task for trial in group}) == 1
        kinds = [trial.kind for trial in group]
        assert kinds == ([Kind.RELAY, Kind.BRIDGE] if group[0].task.rate else list(Kind))


@PLANS
def test_every_size_and_the_rate_come_as_often_as_said(plan: Plan) -> None:
    tasks = list(plan.tasks())
    for size in plan.sizes:
        assert tasks.count(Task(size, plan.seconds)) == plan.pairs
    for rate in plan.rates:
        paced = Task(plan.paced_size, plan.paced_seconds, rate)
        assert tasks.count(paced) == plan.paced_pairs
    assert len(tasks) == len(plan.sizes) * plan.pairs + len(plan.rates) * plan.paced_pairs


def test_last_comes_half_of_what_was_carried() -> None:
    last = list(PLAN.last(7, 30_001.0))
    task = Task(PLAN.paced_size, PLAN.paced_seconds, 15_000)
    assert last == [
        Trial(7 + nth, kind, task)
        for nth in range(PLAN.paced_pairs)
        for kind in (Kind.RELAY, Kind.BRIDGE)
    ]
    assert list(PLAN.last(7, 0.0)) == list(Plan(half=False).last(7, 30_001.0)) == []


def test_sizes_take_turns() -> None:
    sizes = [task.size for task in Plan(sizes=(64, 128), pairs=2).tasks() if not task.rate]
    assert sizes == [64, 128, 64, 128]


def test_the_full_plan_covers_the_sizes_that_are_promised() -> None:
    assert (PLAN.sizes[0], PLAN.sizes[-1]) == (64, 16 << 10)
    assert set(QUICK.sizes) < set(PLAN.sizes)
    assert set(QUICK.rates) < set(PLAN.rates) == {100, 1000}


STARTS = 1.2
"""Seconds that the three processes of a trial take to start, on an idle machine."""


@pytest.mark.parametrize(("plan", "most"), [(PLAN, 300), (QUICK, 25)])
def test_a_plan_has_its_share_of_the_twenty_minutes_or_of_the_two(plan: Plan, most: float) -> None:
    trials = [*plan.trials(), *plan.last(99, 30_000.0)]
    assert sum(trial.task.seconds + STARTS for trial in trials) <= most
