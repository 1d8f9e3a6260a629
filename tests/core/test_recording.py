"""Recording events of runs."""

from __future__ import annotations

from trio.testing import wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.hub_testing import DONE, TrioClock, kinds, start_run
from fleetgate.core.ids import Epoch, Seq, WorkerId
from fleetgate.core.journal.api import Journal, PutNote, PutRun
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.ledger import Ledger
from fleetgate.core.limits import Limits
from fleetgate.core.run import start
from fleetgate.core.slots import Slot

ASSIGNED = e.RunAssigned(WorkerId("pool/w"), Epoch(1))
SOURCE = e.Source(Epoch(1), 1)


async def opened(ledger: Ledger, journal: Journal, name: str) -> Slot:
    """A run that its worker has begun."""
    slot = Slot(start(start_run(name), now=1).run)
    await ledger.commit(lambda done: journal.enqueue((PutRun(slot.run),), done))
    ledger.record(slot, (ASSIGNED, e.RunStarted()), e.Source(Epoch(1), 0))
    await wait_all_tasks_blocked()
    return slot


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
        recording = ledger.recording()
        recording.add(slot, parts)
        recording.enqueue()
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


async def test_fault_18_what_no_journal_can_hold_is_said_in_its_place_and_the_run_goes_on() -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        slot = Slot(start(start_run(), now=1).run)
        await ledger.commit(lambda done: journal.enqueue((PutRun(slot.run),), done))
        half = "half a pair: \ud83d"
        then: list[int] = []
        ledger.record(
            slot,
            (ASSIGNED, e.TextProduced("a"), e.TextProduced(half), e.TextProduced("b")),
            e.Source(Epoch(1), 4),
            then=lambda: then.append(slot.visible_seq),
        )
        lost = e.Outcome(e.RunState.FAILED, e.Reason.ERROR, half)
        ledger.record(slot, (e.RunFinished(lost),), e.Source(Epoch(1), 5))
        await wait_all_tasks_blocked()
        stored = await journal.read(slot.run.id, Seq(0), items=9, size=9999)
        assert kinds(stored) == [
            "RunAssigned",
            "TextProduced",
            "Diagnosed",
            "TextProduced",
            "RunFinished",
        ]
        assert [each.seq for each in stored] == [1, 2, 3, 4, 5]
        assert then == [4]
        assert slot.visible.state is e.RunState.FAILED


async def test_what_several_runs_say_is_one_entry_of_the_line() -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        one, two = [await opened(ledger, journal, name) for name in ("one", "two")]
        then: list[str] = []
        recording = ledger.recording()
        text = (((e.TextProduced("a"),), SOURCE),)
        recording.add(one, text, plain=True, then=lambda: then.append("one"))
        note = PutNote("session", "s", b"note")
        recording.add(two, [((DONE,), SOURCE)], also=(note,), then=lambda: then.append("two"))
        recording.add(one, [((), e.Source(Epoch(1), 2)), ((DONE,), e.Source(Epoch(1), 3))])
        assert (one.last_seq, two.last_seq, one.visible_seq) == (4, 3, 2)
        assert journal.pressure().items == 0, "it is in line once it is enqueued"
        recording.enqueue()
        assert journal.pressure().items == 4
        await wait_all_tasks_blocked()
        assert then == ["one", "two"]
        assert await journal.notes("session") == {"s": b"note"}
        for slot, ends in ((one, ["TextProduced", "RunFinished"]), (two, ["RunFinished"])):
            stored = await journal.read(slot.run.id, Seq(2), items=9, size=9999)
            assert kinds(stored) == ends
            run = await journal.get(slot.run.id)
            assert run == slot.seen()
            assert run is not None
            assert run.state.terminal
        assert one.native_seq == 3


async def test_a_number_without_an_event_goes_behind_what_is_recorded_with_it() -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        one, two = [await opened(ledger, journal, name) for name in ("one", "two")]
        recording = ledger.recording()
        recording.add(one, [((), e.Source(Epoch(1), 2))])
        recording.add(two, [((e.TextProduced("a"),), SOURCE)])
        recording.add(one, [((e.TextProduced("b"),), e.Source(Epoch(1), 3))])
        recording.add(two, [((), e.Source(Epoch(1), 4))])
        recording.enqueue()
        await wait_all_tasks_blocked()
        for slot, native in ((one, 3), (two, 4)):
            run = await journal.get(slot.run.id)
            assert run is not None
            assert (run.native_seq, run.last_seq) == (native, 3)
            assert slot.visible_native == native
            assert slot.puts == 0


async def test_fault_18_what_no_journal_can_hold_of_one_run_costs_the_others_nothing() -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        one, two = [await opened(ledger, journal, name) for name in ("one", "two")]
        then: list[int] = []
        recording = ledger.recording()
        recording.add(one, [((e.TextProduced("a"),), SOURCE)], then=lambda: then.append(1))
        half = e.TextProduced("half a pair: \ud83d")
        recording.add(two, [((e.TextProduced("b"), half, DONE), SOURCE)])
        recording.add(one, [((e.TextProduced("c"),), SOURCE)], then=lambda: then.append(2))
        recording.enqueue()
        await wait_all_tasks_blocked()
        stored = await journal.read(one.run.id, Seq(2), items=9, size=9999)
        assert [each.event for each in stored] == [e.TextProduced("a"), e.TextProduced("c")]
        stored = await journal.read(two.run.id, Seq(2), items=9, size=9999)
        assert kinds(stored) == ["TextProduced", "Diagnosed", "RunFinished"]
        assert then == [1, 2]
