"""Waiting for the journal."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core.commits import Commits, in_all, readable, within
from fleetgate.core.errors import InvalidArgument, Unavailable
from fleetgate.core.journal.api import Done, JournalDamaged, JournalFailing, PutNote
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.limits import Limits
from fleetgate.core.times import SECOND


async def test_what_takes_too_long_is_refused_with_its_own_words(
    autojump_clock: MockClock,
) -> None:
    with within(2 * SECOND, "never"):
        await trio.sleep(1)
    with pytest.raises(Unavailable, match="the word"), within(2 * SECOND, "the word"):
        await trio.sleep(3)


async def test_waits_in_a_row_have_one_limit_and_say_which_was_late(
    autojump_clock: MockClock,
) -> None:
    async def wait_twice() -> None:
        with in_all(3 * SECOND):
            with within(2 * SECOND, "first"), in_all(9 * SECOND):
                await trio.sleep(1.5)
            with within(2 * SECOND, "second"):
                await trio.sleep(1.75)

    began = trio.current_time()
    with pytest.raises(Unavailable, match="second"):
        await wait_twice()
    assert trio.current_time() - began == 3
    with within(2 * SECOND, "never"):
        await trio.sleep(1.75)


async def test_being_cancelled_from_without_is_no_refusal() -> None:
    with trio.CancelScope() as scope, within(2 * SECOND, "never"):
        scope.cancel()
        await trio.sleep_forever()
    assert scope.cancelled_caught


def test_what_cannot_be_read_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="try again") as caught, readable():
        raise JournalFailing("disk I/O error")
    assert not caught.value.lasting


def test_nobody_is_told_to_try_what_is_damaged_again() -> None:
    with pytest.raises(Unavailable) as caught, readable():
        raise JournalDamaged("event 3 is missing")
    assert "(event 3 is missing); stop the gateway" in str(caught.value)
    assert caught.value.lasting


async def test_a_commit_that_takes_too_long_is_answered_and_settled_later(
    autojump_clock: MockClock,
) -> None:
    async with open_memory_journal() as journal:
        commits = Commits(journal, Limits())
        dones: list[Done] = []
        settled = trio.Event()
        with pytest.raises(Unavailable, match="in time"):
            await commits.commit(dones.append, settled.set)
        assert not settled.is_set()
        dones[0](None)
        assert settled.is_set()


async def _for_ever(_: MemoryJournal) -> None:
    await trio.sleep_forever()


async def test_i9_what_found_no_room_in_time_is_refused_and_not_left_open(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryJournal, "wait_room", _for_ever)
    async with open_memory_journal() as journal:
        dones: list[Done] = []
        settled = trio.Event()
        with pytest.raises(Unavailable, match="too much waits") as refused:
            await Commits(journal, Limits()).commit(dones.append, settled.set)
        assert not refused.value.open
        assert settled.is_set()
        assert dones == []


async def test_what_is_given_up_is_told() -> None:
    async with open_memory_journal() as journal:
        commits = Commits(journal, Limits())
        with pytest.raises(Unavailable, match="full"):
            await commits.commit(lambda done: done(JournalFailing("full")))


async def test_what_was_never_put_in_line_is_settled_at_once() -> None:
    async with open_memory_journal() as journal:
        commits = Commits(journal, Limits())
        settled: list[str] = []

        def too_large(done: Done) -> None:
            journal.enqueue((PutNote("space", "key", bytes(1 << 17)),), done)

        with pytest.raises(InvalidArgument):
            await commits.commit(too_large, lambda: settled.append("large"))
        await fail(journal)
        with pytest.raises(Unavailable, match="disk full"):
            await commits.commit(too_large, lambda: settled.append("full"))
        assert settled == ["large", "full"]


async def fail(journal: MemoryJournal) -> None:
    """Let commits fail, and one of them find out."""
    journal.fail("disk full")
    with pytest.raises(JournalFailing):
        await journal.commit((PutNote("space", "key", b"x"),))
