"""Giving out work: the start first, then the orders by number, each once, whatever is in line
at the journal meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    POOL,
    HandWorker,
    describe,
    hub_on,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import JournalConflict
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.limits import Limits
from fleetgate.core.roster import Roster
from fleetgate.core.times import SECOND


@pytest.fixture
async def slow(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    """A hub on a disk that takes its time, so that much is in line at any moment."""
    store = MemoryJournal.store

    async def slowly(
        self: MemoryJournal, groups: Sequence[Sequence[Row]]
    ) -> Mapping[int, JournalConflict]:
        await trio.sleep(0.5)
        return await store(self, groups)

    monkeypatch.setattr(MemoryJournal, "store", slowly)
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        yield hub


@pytest.mark.parametrize("numbered", [True, False])
async def test_an_order_in_line_when_a_run_is_assigned_comes_once_and_behind_the_start(
    slow: Hub, autojump_clock: MockClock, numbered: bool
) -> None:
    worker = HandWorker(slow, worker_info(numbered_input=numbered))
    await worker.join(free=0)
    run = await started(slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.submit, c.SendInput(run, b"a"))
        await trio.sleep(0.1)
        slow.report_capacity(worker.info.id, worker.epoch, 1)
    await trio.sleep(10)
    assert worker.port.numbers(run) == [0, 1]


@pytest.mark.parametrize("numbered", [True, False])
async def test_orders_keep_their_order_around_an_assignment(
    slow: Hub, autojump_clock: MockClock, numbered: bool
) -> None:
    worker = HandWorker(slow, worker_info(numbered_input=numbered))
    await worker.join(free=0)
    run = await started(slow)
    await slow.submit(c.SendInput(run, b"first"))
    slow.report_capacity(worker.info.id, worker.epoch, 1)
    await slow.submit(c.SendInput(run, b"second"))
    await slow.submit(c.CancelRun(run))
    await trio.sleep(10)
    assert worker.port.numbers(run) == [0, 1, 2, 3]


async def test_the_specs_own_stdin_comes_before_what_is_sent(
    slow: Hub, autojump_clock: MockClock
) -> None:
    worker = HandWorker(slow, worker_info())
    await worker.join()
    spec = c.RunSpec(c.ShellCommand(line="cat", stdin=b"own"), interactive=True)
    run = await started(slow, spec=spec)
    await slow.submit(c.SendInput(run, b"second"))
    await trio.sleep(10)
    assert worker.port.numbers(run) == [0, 1, 2]


async def test_an_input_whose_link_went_before_it_was_handed_is_not_in_doubt(
    slow: Hub, autojump_clock: MockClock
) -> None:
    worker = HandWorker(slow, worker_info())
    await worker.join()
    run = await started(slow)
    await trio.sleep(5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.submit, c.SendInput(run, b"a"))
        await trio.sleep(0.7)  # durable, and being marked as sent
        worker.leave()
    await trio.sleep(5)
    assert worker.port.numbers(run) == [0]
    admission = await HandWorker(slow, worker_info()).admit()
    assert [order.input for order in admission.held[0].orders] == [1]
    assert (await describe(slow, run)).last_seq == 1


async def test_a_worker_that_is_taken_over_between_assignment_and_order_is_told_at_admission(
    slow: Hub, autojump_clock: MockClock
) -> None:
    first = HandWorker(slow, worker_info(numbered_input=True))
    await first.join()
    run = await started(slow)
    second = HandWorker(slow, worker_info(numbered_input=True))
    admission = await second.admit()
    second.ready()
    await trio.sleep(10)
    assert [held.run.id for held in admission.held] == [run]
    assert first.port.orders == []
    assert second.port.orders == []
    await slow.submit(c.CancelRun(run))
    assert second.port.numbers(run) == [1]


async def test_I9_runs_that_ended_in_the_line_leave_it(hub: Hub) -> None:
    await started(hub, "head")
    for number in range(50):
        await hub.submit(c.CancelRun(await started(hub, str(number))))
    await wait_all_tasks_blocked()
    assert list(hub._roster.line(POOL)) == [RunId("north/head")]


async def test_I5_a_run_whose_sessions_worker_is_gone_for_good_goes_to_another(
    hub: Hub, autojump_clock: MockClock
) -> None:
    old = HandWorker(hub, worker_info("old", grace=SECOND))
    await old.join()
    run = await started(hub)
    await read_until(hub, run, 1)
    old.record(run, e.SessionOpened("s"), DONE, seq=1)
    await read_until(hub, run, 3)
    old.leave()
    new = HandWorker(hub, worker_info("new"))
    await new.join()
    waiting = await started(hub, "next", c.RunSpec(c.Prompt("x"), resume="s"))
    await trio.sleep(0.5)
    assert new.port.orders == []
    await trio.sleep(5)
    assert new.port.numbers(waiting) == [0]


async def test_I5_a_run_that_nobody_ever_takes_expires(autojump_clock: MockClock) -> None:
    async with open_memory_journal() as journal, hub_on(journal, Limits()) as hub:
        run = await started(hub)
        await trio.sleep(Limits().lost_after / SECOND + 1)
        outcome = (await describe(hub, run)).outcome
        assert outcome is not None
        assert outcome.reason is e.Reason.EXPIRED


async def test_while_nothing_waits_nobody_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet that comes would else look through itself once for each of its workers."""
    looked: list[str] = []
    has_room = Roster.has_room

    def counted(self: Roster, pool: str) -> bool:
        looked.append(pool)
        return has_room(self, pool)

    monkeypatch.setattr(Roster, "has_room", counted)
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        for number in range(3):
            await HandWorker(hub, worker_info(f"w-{number}")).join(free=0)
        assert looked == []
        run = await started(hub)
        await HandWorker(hub, worker_info("free")).join()
        await wait_all_tasks_blocked()
        assert (await describe(hub, run)).worker is not None
        assert set(looked) == {POOL}
