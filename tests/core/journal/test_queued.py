"""The queue before a journal: groups, order, bounds, and what failing commits mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import trio
import trio.testing

from fleetgate.core.journal.api import (
    JournalConflict,
    JournalError,
    JournalFailing,
    PutNote,
)
from fleetgate.core.journal.queued import (
    COMMIT_ITEMS,
    COMMIT_SIZE,
    LAST_RETRY,
    QUEUE_ITEMS,
    QUEUE_SIZE,
    QueuedJournal,
    committing,
)
from fleetgate.core.journal.rows import NOTE_SIZE, Row
from fleetgate.core.journal.samples import Answers, WriteOnly


class HandJournal(WriteOnly, QueuedJournal):
    """A journal whose commits the test lets through, fails, and looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[list[str]] = []
        self.attempts: list[float] = []
        self.fault: JournalFailing | None = None
        self.gate = trio.Event()
        self.gate.set()

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        self.attempts.append(trio.current_time())
        await self.gate.wait()
        await trio.lowlevel.checkpoint()
        if self.fault is not None:
            raise self.fault
        rows = [row for group in groups for row in group]
        self.commits.append([row.key for row in rows if isinstance(row, PutNote)])
        return {
            index: JournalConflict("refused")
            for index, group in enumerate(groups)
            if any(isinstance(row, PutNote) and row.space == "refuse" for row in group)
        }


def note(key: str, size: int = 0, space: str = "a") -> PutNote:
    return PutNote(space, key, bytes(size))


async def test_what_waits_when_a_commit_ends_is_the_next_one() -> None:
    answers = Answers()
    async with committing(HandJournal()) as journal:
        journal.gate = trio.Event()
        journal.enqueue([note("first")], answers.done("first"))
        await trio.testing.wait_all_tasks_blocked()
        for number in range(20):
            journal.enqueue([note(str(number))], answers.done(str(number)))
        journal.gate.set()
        await answers.wait(21)
    assert journal.commits == [["first"], [str(number) for number in range(20)]]
    assert [label for label, _ in answers.came] == ["first", *map(str, range(20))]


@pytest.mark.limit("core/journal/queued.COMMIT_ITEMS", "core/journal/queued.COMMIT_SIZE")
async def test_i9_a_commit_is_bounded_in_items_and_in_bytes() -> None:
    async with committing(HandJournal()) as journal:
        answers = Answers()
        for number in range(COMMIT_ITEMS + 1):
            journal.enqueue([note(str(number))], answers.done(""))
        large = 3 * COMMIT_SIZE // NOTE_SIZE
        for number in range(large):
            journal.enqueue([note(str(number), NOTE_SIZE)], answers.done(""))
        await answers.wait(COMMIT_ITEMS + 1 + large)
    assert len(journal.commits[0]) == COMMIT_ITEMS
    assert len(journal.commits) == 4
    assert all(len(commit) <= COMMIT_SIZE // NOTE_SIZE + 1 for commit in journal.commits[1:])


async def test_one_entry_is_never_split_however_large() -> None:
    async with committing(HandJournal()) as journal:
        await journal.commit([note(str(number)) for number in range(3 * COMMIT_ITEMS)])
    assert len(journal.commits) == 1


async def test_what_contradicts_is_answered_alone() -> None:
    answers = Answers()
    async with committing(HandJournal()) as journal:
        journal.enqueue([note("a")], answers.done("a"))
        journal.enqueue([note("b", space="refuse")], answers.done("b"))
        journal.enqueue([note("c")], answers.done("c"))
    assert [label for label, _ in answers.came] == ["a", "b", "c"]
    assert [type(error) for _, error in answers.came] == [type(None), JournalConflict, type(None)]


@pytest.mark.limit("core/journal/queued.QUEUE_ITEMS")
async def test_i9_room_is_waited_for_and_told() -> None:
    async with committing(HandJournal()) as journal, trio.open_nursery() as nursery:
        journal.gate = trio.Event()
        for number in range(QUEUE_ITEMS):
            journal.enqueue([note(str(number))], Answers().done(""))
        waited = trio.Event()

        async def wait() -> None:
            await journal.wait_room()
            waited.set()

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert not waited.is_set()
        assert journal.pressure().items == QUEUE_ITEMS
        journal.gate.set()
        await waited.wait()
        assert journal.pressure().items < QUEUE_ITEMS


async def test_a_failing_commit_is_tried_again_ever_more_rarely(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with committing(HandJournal()) as journal:
        answers = Answers()
        journal.fault = JournalFailing("the disk is full")
        start = trio.current_time()
        journal.enqueue([note("a")], answers.done("a"))
        await trio.sleep(22)
        at = [round(time - start, 3) for time in journal.attempts]
        assert at == [0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 11.3, 16.3, 21.3]
        assert journal.pressure().failing == "the disk is full"
        journal.fault = None
        await answers.wait(1)
        assert trio.current_time() - start <= 21.3 + LAST_RETRY
        assert answers.came == [("a", None)]
        assert journal.pressure().failing is None


async def test_whoever_watches_is_told_once_of_each_change(
    autojump_clock: trio.testing.MockClock,
) -> None:
    told: list[str | None] = []
    async with committing(HandJournal()) as journal:
        journal.watch(told.append)
        journal.enqueue([note("a")], Answers().done("a"))
        await trio.sleep(1)
        assert told == []
        for fault in ("the disk is full", "the disk is read-only"):
            journal.fault = JournalFailing(fault)
            journal.enqueue([note("b")], Answers().done("b"))
            await trio.sleep(30)
        journal.fault = None
        await trio.sleep(30)
    assert told == ["the disk is full", None]


async def test_a_commit_that_hangs_counts_as_one_that_fails_until_it_ends(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answers, told = Answers(), list[str | None]()
    async with committing(HandJournal()) as journal:
        journal.watch(told.append)
        journal.gate = trio.Event()
        journal.enqueue([note("a")], answers.done("a"))
        journal.enqueue([note("b")], answers.done("b"), may_fail=True)
        await trio.sleep(7)
        assert journal.pressure().failing is None
        await trio.sleep(30)
        journal.enqueue([note("c")], answers.done("c"), may_fail=True)
        await trio.sleep(3)
        assert journal.pressure().failing == "no commit has ended for 40 s"
        assert answers.came == []  # nobody knows what is durable
        assert len(told) == 1
        journal.gate.set()
        await answers.wait(3)
        assert journal.pressure().failing is None
        assert [error for _, error in answers.came] == [None] * 3
    assert (told[0] or "").startswith("no commit has ended for ")
    assert told[1:] == [None]
    assert journal.commits == [["a", "b"], ["c"]]


async def test_a_commit_that_hangs_and_then_fails_is_told_of_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answers, told = Answers(), list[str | None]()
    async with committing(HandJournal()) as journal:
        journal.watch(told.append)
        journal.gate = trio.Event()
        journal.fault = JournalFailing("the disk is gone")
        journal.enqueue([note("a")], answers.done("a"), may_fail=True)
        journal.enqueue([note("b")], answers.done("b"))
        await trio.sleep(30)
        journal.gate.set()
        await answers.wait(1)
        assert isinstance(answers.came[0][1], JournalFailing)
        assert journal.pressure().failing == "the disk is gone"
        journal.fault = None
        await answers.wait(2)
    assert (len(told), told[-1]) == (2, None)


async def test_what_arrives_during_a_failing_commit_stays_behind_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with committing(HandJournal()) as journal:
        answers = Answers()
        journal.fault, journal.gate = JournalFailing("the disk is full"), trio.Event()
        journal.enqueue([note("a")], answers.done("a"))
        await trio.testing.wait_all_tasks_blocked()
        journal.enqueue([note("b")], answers.done("b"))
        journal.gate.set()
        await trio.sleep(1)
        journal.fault = None
        await answers.wait(2)
    assert [label for label, _ in answers.came] == ["a", "b"]


async def test_what_may_fail_is_answered_at_once_while_commits_fail(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with committing(HandJournal()) as journal:
        answers = Answers()
        journal.fault = JournalFailing("the disk is full")
        journal.enqueue([note("waits")], answers.done("waits"))
        await trio.sleep(10)
        attempts = len(journal.attempts)
        for _ in range(100):
            with pytest.raises(JournalFailing, match="the disk is full"):
                await journal.commit([note("fails")])
        assert len(journal.attempts) <= attempts + 1  # they do not drive the retries
        journal.fault = None
        await answers.wait(1)
    assert journal.commits == [["waits"]]


async def test_it_finds_out_by_itself_that_commits_work_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with committing(HandJournal()) as journal:
        journal.fault = JournalFailing("the disk is full")
        with pytest.raises(JournalFailing):
            await journal.commit([note("a")])
        await trio.sleep(30)
        assert journal.pressure().failing
        journal.fault = None
        await trio.sleep(LAST_RETRY)
        assert journal.pressure().failing is None
        assert journal.commits == [[]]
        before = len(journal.attempts)
        await trio.sleep(100)
        assert len(journal.attempts) == before


async def test_the_wait_starts_anew_after_a_success(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with committing(HandJournal()) as journal:
        answers = Answers()
        for _ in range(2):
            journal.fault = JournalFailing("the disk is full")
            journal.attempts.clear()
            journal.enqueue([note("a")], answers.done("a"))
            await trio.sleep(1)
            gaps = [b - a for a, b in zip(journal.attempts, journal.attempts[1:], strict=False)]
            assert gaps == pytest.approx([0.1, 0.2, 0.4])
            journal.fault = None
            await answers.wait(1)
            answers.came.clear()


async def test_an_answer_may_enqueue_and_order_holds(
    autojump_clock: trio.testing.MockClock,
) -> None:
    answers = Answers()
    async with committing(HandJournal()) as journal:
        journal.fault = JournalFailing("the disk is full")

        def again(error: Exception | None) -> None:
            answers.done("first")(error)
            journal.enqueue([note("third")], answers.done("third"))

        journal.enqueue([note("first")], again, may_fail=True)
        journal.enqueue([note("second")], answers.done("second"))
        await answers.wait(1)
        journal.fault = None
        await answers.wait(3)
    assert [key for commit in journal.commits for key in commit] == ["second", "third"]
    assert [label for label, _ in answers.came] == ["first", "second", "third"]


@pytest.mark.parametrize("fault", [None, JournalFailing("the disk is full")])
async def test_an_answer_behind_the_end_may_still_enqueue(fault: JournalFailing | None) -> None:
    answers = Answers()
    async with committing(HandJournal()) as journal:
        journal.fault = fault

        def again(error: Exception | None) -> None:
            journal.enqueue([note("second")], answers.done("second"))

        journal.enqueue([note("first")], again)
    ((label, error),) = answers.came
    assert label == "second"
    assert str(error) == str(fault)


@pytest.mark.parametrize("may_fail", [True, False])
async def test_leaving_gives_up_what_cannot_be_committed(
    may_fail: bool, autojump_clock: trio.testing.MockClock
) -> None:
    answers = Answers()
    async with committing(HandJournal()) as journal:
        journal.fault = JournalFailing("the disk is full")
        journal.enqueue([note("a")], answers.done("a"))
        await trio.sleep(60)
        journal.enqueue([note("b")], answers.done("b"), may_fail=may_fail)
    assert [label for label, _ in answers.came] == ["a", "b"]
    assert all(isinstance(error, JournalFailing) for _, error in answers.came)


async def test_leaving_makes_one_last_attempt(autojump_clock: trio.testing.MockClock) -> None:
    answers = Answers()
    async with committing(HandJournal()) as journal:
        journal.fault = JournalFailing("the disk is full")
        journal.enqueue([note("a")], answers.done("a"))
        await trio.sleep(60)
        journal.fault = None
    assert answers.came == [("a", None)]


async def test_a_commit_that_is_cancelled_is_made_all_the_same() -> None:
    async with committing(HandJournal()) as journal:
        journal.gate = trio.Event()
        with trio.move_on_after(0) as scope:
            await journal.commit([note("a")])
        assert scope.cancelled_caught
        journal.gate.set()
    assert journal.commits == [["a"]]


async def test_a_body_that_raises_meets_its_own_error() -> None:
    journal = HandJournal()

    async def body() -> None:
        async with committing(journal):
            journal.enqueue([note("a")], Answers().done("a"))
            raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        await body()
    assert journal.commits == [["a"]]
    with pytest.raises(JournalError, match="closed"):
        journal.enqueue([note("b")], Answers().done("b"))


async def test_a_mistake_in_the_storage_ends_the_body() -> None:
    class Broken(HandJournal):
        async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            raise ZeroDivisionError

    with pytest.RaisesGroup(ZeroDivisionError):
        async with committing(Broken()) as journal:
            journal.enqueue([note("a")], Answers().done("a"))
            await trio.sleep_forever()


@pytest.mark.limit("core/journal/queued.QUEUE_SIZE")
async def test_i9_room_is_bounded_in_bytes_too() -> None:
    async with committing(HandJournal()) as journal:
        journal.gate = trio.Event()
        while journal.has_room:
            journal.enqueue([note("large", NOTE_SIZE)], Answers().done(""))
        assert QUEUE_SIZE <= journal.pressure().size < QUEUE_SIZE + 2 * NOTE_SIZE
        assert journal.pressure().items < QUEUE_ITEMS
        journal.gate.set()
        await journal.wait_room()
        assert journal.pressure().size < QUEUE_SIZE
