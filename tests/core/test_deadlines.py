"""When a run's time is over."""

from __future__ import annotations

import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Reason, RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    CANCELED,
    HandWorker,
    describe,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.times import SECOND


async def test_a_run_expires_in_the_queue(hub: Hub, autojump_clock: trio.testing.MockClock) -> None:
    now = (await describe(hub, await started(hub, "clock"))).created
    spec = c.RunSpec(c.Prompt("x"), expires=now + 10 * SECOND)
    run = await started(hub, spec=spec)
    await trio.sleep(9)
    assert (await describe(hub, run)).state is RunState.QUEUED
    await trio.sleep(2)
    outcome = (await describe(hub, run)).outcome
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.EXPIRED)


async def test_a_timeout_is_an_order_to_cancel_and_then_timed_out(
    hub: Hub, worker: HandWorker, autojump_clock: trio.testing.MockClock
) -> None:
    run = await started(hub, spec=c.RunSpec(c.Prompt("x"), timeout=5 * SECOND))
    await read_until(hub, run, 1)
    worker.record(run, e.RunStarted(), seq=1)
    await read_until(hub, run, 2)
    await trio.sleep(6)
    assert isinstance(worker.port.orders[-1].command, c.CancelRun)
    worker.record(run, CANCELED, seq=2)
    await read_until(hub, run, 3)
    outcome = (await describe(hub, run)).outcome
    assert outcome is not None
    assert (outcome.state, outcome.reason) == (RunState.FAILED, Reason.TIMED_OUT)


async def test_I5_a_worker_that_does_not_end_a_run_in_time_does_not_keep_it_open(
    hub: Hub, autojump_clock: trio.testing.MockClock
) -> None:
    worker = HandWorker(hub, worker_info(enforces_timeout=True))
    await worker.join()
    run = await started(hub, spec=c.RunSpec(c.Prompt("x"), timeout=5 * SECOND))
    await read_until(hub, run, 1)
    worker.record(run, e.RunStarted(), seq=1)
    await read_until(hub, run, 2)
    await trio.sleep(6)
    assert len(worker.port.orders) == 1
    await trio.sleep(30)
    assert (await describe(hub, run)).state is RunState.FAILED
