"""The tools of a runner without a script, on a hub in virtual time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from fleetgate.core.commands import CancelRun, Prompt, RunSpec, ToolCall
from fleetgate.core.events import Outcome, RunFinished, RunState, TextProduced
from fleetgate.core.hub_testing import read_until, started
from fleetgate.gateway.fakes.acting import Act
from fleetgate.gateway.fakes.echo import echo
from fleetgate.gateway.fakes.tools import BIG, STUBBORN, TOOLS, act_of


@pytest.fixture
def acts() -> Callable[[RunSpec], Act]:
    return act_of


def call(name: str, **given: object) -> RunSpec:
    return RunSpec(ToolCall(name, given))


def test_every_tool_has_an_act_and_all_else_echoes() -> None:
    acts = {act_of(call(name)) for name in TOOLS}
    assert len(acts) == len(TOOLS)
    assert echo not in acts
    assert act_of(call("other")) is echo
    assert act_of(RunSpec(Prompt("x"))) is echo


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
    said = await read_until(hub, run, 3)
    texts = [each.event.text for each in said if isinstance(each.event, TextProduced)]
    assert texts
    assert BIG > 4 << 20


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
