"""Runs that the hub has ended while their worker is still at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core import leftovers
from fleetgate.core.events import Reason
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    CANCELED,
    DONE,
    HandWorker,
    describe,
    hub_on,
    kinds,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import JournalConflict
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.times import SECOND

TIMEOUT = c.RunSpec(c.Prompt("x"), timeout=5 * SECOND)


async def at_work(hub: Hub, name: str = "r") -> tuple[HandWorker, RunId]:
    """A worker that keeps timeouts itself, or says so, with a run that has five seconds."""
    worker = HandWorker(hub, worker_info(enforces_timeout=True))
    await worker.join()
    run = await started(hub, name, TIMEOUT)
    await read_until(hub, run, 1)
    worker.record(run, e.RunStarted(), seq=1)
    await read_until(hub, run, 2)
    await wait_all_tasks_blocked()  # the worker is told of what is durable after the followers
    return worker, run


async def test_the_worker_is_told_to_stop_and_is_confirmed_what_it_says_after(
    hub: Hub, autojump_clock: MockClock
) -> None:
    worker, run = await at_work(hub)
    await trio.sleep(36)
    outcome = (await describe(hub, run)).outcome
    assert outcome is not None
    assert outcome.reason is Reason.TIMED_OUT
    assert worker.port.numbers(run) == [0, 1]
    assert isinstance(worker.port.orders[-1].command, c.CancelRun)
    worker.port.durable.clear()
    assert worker.record(run, e.TextProduced("late"), seq=2)
    assert worker.record(run, CANCELED, seq=3)
    assert worker.port.durable == [(run, 2), (run, 3)]
    assert kinds(await read_until(hub, run, 3)) == ["RunAssigned", "RunStarted", "RunFinished"]
    assert not worker.record(run, e.TextProduced("later"), seq=4)
    assert hub.worker(worker.info.id).leftovers == {}


async def test_i3_what_is_left_out_is_confirmed_only_once_the_end_is_durable(
    autojump_clock: MockClock,
) -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker, run = await at_work(hub)
        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(5)
            return await store(groups)

        journal.store = slow  # type: ignore[method-assign]
        worker.port.durable.clear()
        await trio.sleep(36)
        worker.record(run, DONE, seq=2)
        assert worker.port.durable == []
        await trio.sleep(10)
        assert worker.port.durable[0] == (run, 2)
        assert worker.port.numbers(run) == [0], "it has ended by itself"
        outcome = (await describe(hub, run)).outcome
        assert outcome is not None
        assert outcome.reason is Reason.TIMED_OUT


async def test_a_worker_that_was_comparing_is_told_once_it_is_ready(
    hub: Hub, autojump_clock: MockClock
) -> None:
    worker, run = await at_work(hub)
    await trio.sleep(30)
    await worker.admit()
    worker.port.orders.clear()
    await trio.sleep(10)
    assert (await describe(hub, run)).state.terminal
    assert worker.port.orders == []
    worker.ready()
    worker.ready()
    assert [type(order.command) for order in worker.port.orders] == [c.CancelRun]


async def test_a_newer_link_knows_nothing_of_it(hub: Hub, autojump_clock: MockClock) -> None:
    worker, run = await at_work(hub)
    await trio.sleep(36)
    worker.port.orders.clear()
    admission = await worker.join()
    assert admission.held == ()
    assert worker.port.orders == []
    assert not worker.record(run, DONE, seq=2)


@pytest.mark.limit("core/leftovers.MOST")
async def test_i9_so_many_leftovers_are_kept(
    hub: Hub, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "MOST", 2)
    worker = HandWorker(hub, worker_info(enforces_timeout=True))
    await worker.join()
    runs = [await started(hub, name, TIMEOUT) for name in "abc"]
    await trio.sleep(1)
    for run in runs:
        worker.record(run, e.RunStarted(), seq=1)
    await trio.sleep(40)
    assert list(hub.worker(worker.info.id).leftovers) == runs[1:]
