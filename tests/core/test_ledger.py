"""The line to the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import InvalidArgument, Unavailable
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    TrioClock,
    describe,
    hub_on,
    kinds,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import Epoch, Seq, WorkerId
from fleetgate.core.journal.api import Done, JournalConflict, PutRun
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.ledger import Ledger
from fleetgate.core.limits import Limits
from fleetgate.core.run import start
from fleetgate.core.slots import Slot
from fleetgate.core.times import SECOND

ASSIGNED = e.RunAssigned(WorkerId("pool/w"), Epoch(1))


async def test_a_group_of_commits_is_shown_once_and_in_order() -> None:
    async with open_memory_journal() as journal, trio.open_nursery() as nursery:
        shown: list[tuple[int, bool]] = []
        ledger = Ledger(
            journal,
            TrioClock(),
            Limits(),
            lambda slot: shown.append((slot.visible_seq, slot.visible.state.terminal)),
        )
        nursery.start_soon(ledger.publish)
        slot = Slot(start(start_run(), now=1).run)
        await ledger.commit(lambda done: journal.enqueue((PutRun(slot.run),), done))
        then: list[int] = []
        ledger.record(slot, (ASSIGNED,), then=lambda: then.append(slot.visible_seq))
        ledger.record(slot, (e.TextProduced("x"),), e.Source(Epoch(1), 7))
        ledger.record(slot, (DONE, e.TextProduced("late")))
        ledger.record(slot, (e.TextProduced("later"),), then=lambda: then.append(99))
        await wait_all_tasks_blocked()
        stored = await journal.read(slot.run.id, Seq(0), items=9, size=9999)
        assert kinds(stored) == ["RunAssigned", "TextProduced", "RunFinished"]
        assert then == [1]
        assert shown == [(3, True)]
        assert slot.native_seq == 7
        nursery.cancel_scope.cancel()


async def test_while_commits_fail_new_work_is_refused_and_recorded_work_waits(
    autojump_clock: MockClock,
) -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        slot = Slot(start(start_run(), now=1).run)

        def write(done: Done) -> None:
            journal.enqueue((PutRun(slot.run),), done, may_fail=True)

        await ledger.commit(write)
        journal.fail("disk full")
        ledger.record(slot, (ASSIGNED,))
        with pytest.raises(Unavailable, match="disk full"):
            await ledger.commit(write)
        with pytest.raises(Unavailable, match="disk full"):
            ledger.check()
        journal.fail(None)
        await trio.sleep(10)
        ledger.check()
        assert slot.visible_seq == 1


async def test_a_command_that_no_journal_can_hold_is_refused_and_changes_nothing(
    hub: Hub,
) -> None:
    run = await started(hub)
    with pytest.raises(InvalidArgument, match="journal cannot hold"):
        await hub.submit(c.CloseInput(run), key="\ud83d")
    with pytest.raises(InvalidArgument):
        await started(hub, "s", c.RunSpec(c.Prompt("\ud83d")))
    await hub.submit(c.CloseInput(run))
    assert (await describe(hub, run)).inputs == 1


async def test_changes_of_an_ended_run_do_not_overwrite_one_another(hub: Hub) -> None:
    run = await started(hub)
    await hub.submit(c.CancelRun(run))
    await wait_all_tasks_blocked()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.acknowledge, run, 1)
        nursery.start_soon(hub.annotate, run, "a", 1)
        nursery.start_soon(hub.annotate, run, "b", 2)
        nursery.start_soon(hub.submit, c.CancelRun(run))
    seen = await describe(hub, run)
    assert (seen.acknowledged, seen.notes, seen.canceling) == (1, {"a": 1, "b": 2}, True)


async def test_a_change_that_is_late_in_line_is_not_lost_to_the_next(
    autojump_clock: MockClock,
) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
    ):
        run = await started(hub)
        await hub.submit(c.CancelRun(run))
        await trio.sleep(1)
        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(5)
            return await store(groups)

        journal.store = slow  # type: ignore[method-assign]
        with pytest.raises(Unavailable, match="in time"):
            await hub.annotate(run, "a", 1)
        with pytest.raises(Unavailable, match="change before this one"):
            await hub.annotate(run, "b", 2)
        await trio.sleep(10)
        journal.store = store  # type: ignore[method-assign]
        await hub.annotate(run, "b", 2)
        assert (await describe(hub, run)).notes == {"a": 1, "b": 2}


async def test_a_command_that_waits_while_its_run_ends_overwrites_nothing(
    hub: Hub, worker: HandWorker
) -> None:
    """The slot that it found is the truth of the run until it is done with it."""
    run = await started(hub)
    await wait_all_tasks_blocked()
    slot = hub._ledger.slots[run]
    await slot.turn.acquire()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.submit, c.CancelRun(run))
        await wait_all_tasks_blocked()
        worker.record(run, DONE)
        await wait_all_tasks_blocked()
        await hub.annotate(run, "a", 1)
        slot.turn.release()
    await wait_all_tasks_blocked()
    seen = await describe(hub, run)
    assert (seen.notes, seen.canceling) == ({"a": 1}, True)
    assert run not in hub._ledger.slots


async def test_a_slot_stays_until_the_last_row_of_its_run_is_durable(hub: Hub) -> None:
    """A row in line when a run ends is not overwritten from the older one in the journal."""
    worker = HandWorker(hub, worker_info())
    await worker.join()
    run = await started(hub)
    await wait_all_tasks_blocked()
    ledger = hub._ledger
    slot = ledger.slots[run]
    slot.puts += 1  # as if a row were in line behind the end
    worker.record(run, DONE)
    await wait_all_tasks_blocked()
    assert (await describe(hub, run)).state is e.RunState.SUCCEEDED
    assert ledger.slots[run] is slot
    ledger.put_done(slot)
    await wait_all_tasks_blocked()
    assert run not in ledger.slots
