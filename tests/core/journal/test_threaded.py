"""A journal whose commits are made by a thread that takes what waits by itself."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing

import pytest
import trio
import trio.testing

from fleetgate.core.journal.api import (
    JournalConflict,
    JournalFailing,
    PutNote,
)
from fleetgate.core.journal.queued import FIRST_RETRY, committing
from fleetgate.core.journal.rows import Row
from fleetgate.core.journal.samples import Answers, WriteOnly
from fleetgate.core.journal.stalls import HUNG_AFTER, LOOK_AGAIN
from fleetgate.core.journal.thread import Caller
from fleetgate.core.journal.threaded import ThreadedJournal


class HandThreaded(WriteOnly, ThreadedJournal):
    """Keeps the keys of each commit. A commit waits for `gate`; it fails while `fault` is set."""

    def __init__(self, thread: Caller) -> None:
        super().__init__(thread)
        self.commits: list[list[str]] = []
        self.threads: set[str] = set()
        self.fault: JournalFailing | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Semaphore(0)

    def write(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        self.begun.release()
        assert self.gate.wait(10)
        self.threads.add(threading.current_thread().name)
        if self.fault is not None:
            raise self.fault
        rows = [row for group in groups for row in group]
        self.commits.append([row.key for row in rows if isinstance(row, PutNote)])
        return {}


@pytest.fixture
async def journal() -> AsyncIterator[HandThreaded]:
    with closing(Caller("the-thread")) as thread:
        yield HandThreaded(thread)


def note(key: str) -> list[PutNote]:
    return [PutNote("a", key, b"")]


async def begun(journal: HandThreaded) -> None:
    await trio.to_thread.run_sync(journal.begun.acquire)


async def test_what_comes_while_a_commit_lasts_is_the_next_one(journal: HandThreaded) -> None:
    answers = Answers()
    journal.gate.clear()
    async with committing(journal):
        journal.enqueue(note("1"), answers.done("1"))
        await begun(journal)
        for key in "234":
            journal.enqueue(note(key), answers.done(key))
        assert answers.came == []
        journal.gate.set()
    assert journal.commits == [["1"], ["2", "3", "4"]]
    assert [key for key, _ in answers.came] == ["1", "2", "3", "4"]
    assert journal.threads == {"the-thread"}
    assert journal.pressure().items == 0


async def test_a_thread_that_does_not_come_back_is_known_to_hang(
    journal: HandThreaded, mock_clock: trio.testing.MockClock
) -> None:
    answers, told = Answers(), list[str | None]()
    journal.watch(told.append)
    journal.gate.clear()
    async with committing(journal):
        journal.enqueue(note("1"), answers.done("1"))
        await begun(journal)
        for leap in (HUNG_AFTER - LOOK_AGAIN, LOOK_AGAIN):
            mock_clock.jump(leap)
            await trio.testing.wait_all_tasks_blocked()
        assert journal.pressure().failing == "no commit has ended for 8 s"
        journal.gate.set()
        await answers.wait(1)
        assert journal.pressure().failing is None
    assert told == ["no commit has ended for 8 s", None]


async def test_an_idle_thread_is_woken(journal: HandThreaded) -> None:
    async with committing(journal):
        for key in "123":
            await journal.commit(note(key))
    assert journal.commits == [["1"], ["2"], ["3"]]


async def test_what_an_answer_puts_in_line_is_committed_after_the_journal_was_closed(
    journal: HandThreaded,
) -> None:
    answers = Answers()
    journal.gate.clear()
    async with committing(journal):
        journal.enqueue(note("1"), lambda _: journal.enqueue(note("2"), answers.done("2")))
        await begun(journal)
        journal.close()
        journal.gate.set()
    assert journal.commits == [["1"], ["2"]]


async def test_where_a_commit_fails_the_loop_tries_again_and_then_the_thread_goes_on(
    journal: HandThreaded, mock_clock: trio.testing.MockClock
) -> None:
    answers = Answers()
    stands: list[str | None] = []
    failed = trio.Event()

    def changed(failing: str | None) -> None:
        stands.append(failing)
        failed.set()
        journal.fault = None

    journal.watch(changed)
    journal.fault = JournalFailing("no room")
    async with committing(journal):
        journal.enqueue(note("1"), answers.done("1"))
        await failed.wait()
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(FIRST_RETRY)
        await answers.wait(1)
        await journal.commit(note("2"))
    assert journal.commits == [["1"], ["2"]]
    assert stands == ["no room", None]
    assert [error for _, error in answers.came] == [None]


async def test_what_an_answer_raises_ends_the_journal_and_nothing_is_answered_after(
    journal: HandThreaded,
) -> None:
    answers = Answers()

    def disagrees(_: Exception | None) -> None:
        raise JournalConflict("we disagree")

    with pytest.RaisesGroup(pytest.RaisesExc(JournalConflict, match="we disagree")):
        async with committing(journal):
            journal.enqueue(note("1"), disagrees)
            journal.enqueue(note("2"), answers.done("2"))
            await trio.sleep_forever()
    assert answers.came == []
