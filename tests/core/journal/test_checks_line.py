"""The checks of what waits for a commit fail journals that lose it or let it pass too early."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from fleetgate.core.journal import checks_line
from fleetgate.core.journal.api import Done, Write
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.queued import committing
from fleetgate.core.journal.testing import Check


class AnswersAtOnce(MemoryJournal):
    def enqueue(self, writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        super().enqueue(writes, lambda error: None, may_fail=may_fail)
        done(None)


class NeverHasRoom(MemoryJournal):
    async def wait_room(self) -> None:
        raise AssertionError("no room in an empty queue")


class DropsTheLast(MemoryJournal):
    async def run(self) -> None:
        while not self._closing:
            await self._arrival()


class StaysOpen(MemoryJournal):
    def enqueue(self, writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        if not self._ended:
            super().enqueue(writes, done, may_fail=may_fail)


@pytest.mark.parametrize(
    ("journal", "check"),
    [
        (AnswersAtOnce, checks_line.check_answers),
        (NeverHasRoom, checks_line.check_room),
        (DropsTheLast, checks_line.check_leaving),
        (StaysOpen, checks_line.check_closed),
    ],
)
async def test_a_broken_promise_is_found(journal: type[MemoryJournal], check: Check) -> None:
    @asynccontextmanager
    async def open_journal(name: str) -> AsyncGenerator[MemoryJournal]:
        async with committing(journal()) as opened:
            yield opened

    with pytest.raises(AssertionError):
        await check(open_journal)


async def test_a_journal_that_never_fails_is_found_by_the_check_of_failing_ones() -> None:
    with pytest.raises(AssertionError, match="succeeded on a failing journal"):
        await checks_line.check_failing(lambda name: open_memory_journal(), lambda on: None)
