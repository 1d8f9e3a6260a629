"""Which trials there are, and in which order."""

from __future__ import annotations

import pytest

from fleetgate.gateway.bench.plan import FULL, QUICK, Plan
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task

PLANS = pytest.mark.parametrize("plan", [FULL, QUICK])


@PLANS
def test_relay_and_bridge_take_turns_at_the_same_task(plan: Plan) -> None:
    trials = list(plan.trials())
    for nth, (relay, bridge) in enumerate(zip(trials[::2], trials[1::2], strict=True), 1):
        assert (relay.kind, bridge.kind) == (Kind.RELAY, Kind.BRIDGE)
        assert relay.pair == bridge.pair == nth
        assert relay.task == bridge.task


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
    relay, bridge = FULL.last(7, 30_001.0)
    assert (relay.kind, bridge.kind, relay.pair) == (Kind.RELAY, Kind.BRIDGE, 7)
    assert relay.task == bridge.task == Task(FULL.paced_size, FULL.paced_seconds, 15_000)
    assert list(FULL.last(7, 0.0)) == list(QUICK.last(7, 30_001.0)) == []


def test_sizes_take_turns() -> None:
    sizes = [task.size for task in Plan(sizes=(64, 128), pairs=2).tasks() if not task.rate]
    assert sizes == [64, 128, 64, 128]


def test_the_full_plan_covers_the_sizes_that_are_promised() -> None:
    assert (FULL.sizes[0], FULL.sizes[-1]) == (64, 16 << 10)
    assert set(QUICK.sizes) < set(FULL.sizes)
    assert set(QUICK.rates) < set(FULL.rates) == {100, 1000}
