"""The tools of a runner without a script, on a hub in virtual time."""

from __future__ import annotations

import pytest
import trio

from fleetgate.core.commands import CancelRun, DescribeRun, RunSpec, ToolCall
from fleetgate.core.events import Outcome, RunFinished, RunState, TextProduced
from fleetgate.core.hub_testing import read_until, started
from fleetgate.gateway.fakes.played import Played
from fleetgate.gateway.fakes.tools import BIG, OFFERED, STUBBORN, TOOLS
from fleetgate.gateway.local.script_play import Stage


@pytest.fixture
def adapters() -> Played:
    return Played(Stage(), TOOLS)


def call(name: str, **given: object) -> RunSpec:
    return RunSpec(ToolCall(name, given))


def test_every_tool_that_is_offered_does_something_of_its_own() -> None:
    assert set(TOOLS) == set(OFFERED)
    assert len(set(TOOLS.values())) == len(TOOLS)


async def outcome_of(hub, run) -> Outcome:
    seen = []
    with trio.fail_after(100), hub.follow(run, 0) as follower:
        async for batch in follower:
            seen += batch
            if isinstance(seen[-1].event, RunFinished):
                return seen[-1].event.outcome
    raise AssertionError("it has no end")


async def test_big_is_larger_than_a_message(stage) -> None:
    hub, _ = stage
    run = await started(hub, "big", call("big"))
    assert (await outcome_of(hub, run)).state is RunState.SUCCEEDED
    last = (await hub.submit(DescribeRun(run))).after.last_seq
    said = [each.event for each in await read_until(hub, run, last)]
    size = sum(len(event.text) for event in said if isinstance(event, TextProduced))
    assert size == BIG > 4 << 20


async def test_stubborn_outlives_its_cancel(stage) -> None:
    hub, _ = stage
    run = await started(hub, "stubborn", call("stubborn"))
    await read_until(hub, run, 2)
    began = trio.current_time()
    await hub.submit(CancelRun(run))
    assert (await outcome_of(hub, run)).state is RunState.SUCCEEDED
    assert trio.current_time() - began >= STUBBORN  # virtual time


async def test_sleep_ends_with_its_cancel(stage) -> None:
    hub, _ = stage
    run = await started(hub, "sleep", call("sleep"))
    await read_until(hub, run, 2)
    await hub.submit(CancelRun(run))
    assert (await outcome_of(hub, run)).state is RunState.CANCELED
