"""The line to the journal."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.errors import Unavailable
from fleetgate.core.hub_testing import DONE, TrioClock, kinds, start_run
from fleetgate.core.ids import Epoch, Seq, WorkerId
from fleetgate.core.journal.api import Done, JournalFailing, PutRun
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.ledger import Ledger
from fleetgate.core.limits import Limits
from fleetgate.core.run import start
from fleetgate.core.slots import Slot

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


async def test_parts_are_recorded_in_one_entry_as_they_would_be_one_by_one() -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        slot = Slot(start(start_run(), now=1).run)
        await ledger.commit(lambda done: journal.enqueue((PutRun(slot.run),), done))
        ledger.record(slot, (ASSIGNED,))
        before = journal.pressure().items
        epoch = Epoch(1)
        parts = [
            ((e.RunStarted(),), e.Source(epoch, 1)),
            ((e.TextProduced("a"), e.TextProduced("b")), e.Source(epoch, 2)),
            ((e.RunStarted(),), e.Source(epoch, 3)),
            ((DONE, e.TextProduced("late")), e.Source(epoch, 4)),
            ((e.TextProduced("later"),), e.Source(epoch, 5)),
        ]
        ledger.record_parts(slot, parts)
        assert journal.pressure().items - before == 5
        await wait_all_tasks_blocked()
        stored = await journal.read(slot.run.id, Seq(1), items=9, size=9999)
        assert [each.seq for each in stored] == [2, 3, 4, 5, 6]
        assert [each.source.seq for each in stored if each.source] == [1, 2, 2, 3, 4]
        assert isinstance(stored[-1].event, e.RunFinished)
        run = await journal.get(slot.run.id)
        assert run is not None
        assert run == slot.seen()
        assert (run.native_seq, run.last_seq) == (4, 6)
        assert run.started
        assert run.ended
        assert run.accepted


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


async def test_a_commit_that_takes_too_long_is_answered(autojump_clock: MockClock) -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        with pytest.raises(Unavailable, match="in time"):
            await ledger.commit(lambda done: None)


async def test_what_is_given_up_is_told() -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        with pytest.raises(Unavailable, match="full"):
            await ledger.commit(lambda done: done(JournalFailing("full")))


async def test_of_many_acknowledgements_the_journal_gets_the_latest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        slot = ledger.slots[start_run().run] = Slot(start(start_run(), now=1).run)
        await ledger.commit(lambda done: journal.enqueue((PutRun(slot.run),), done))
        ledger.record(slot, (ASSIGNED, *(e.TextProduced("x") for _ in range(50))))
        await wait_all_tasks_blocked()
        written: list[int] = []
        put = ledger.put
        monkeypatch.setattr(
            ledger, "put", lambda s, done: (written.append(s.run.acknowledged), put(s, done))
        )
        for through in range(1, 60):
            await ledger.acknowledge(slot.run.id, through)
        await wait_all_tasks_blocked()
        assert written == [1, 51]
        assert (await ledger.seen(slot.run.id)).acknowledged == 51
