"""The check of journals fails those that break a promise."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import attrs
import pytest

from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal import testing
from fleetgate.core.journal.api import Done, JournalConflict, OpenRun, RunFilter, Write
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.queued import committing
from fleetgate.core.journal.rows import EventRows, OrderRow, Row
from fleetgate.core.run import Run


class AnswersAtOnce(MemoryJournal):
    def enqueue(self, writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        super().enqueue(writes, lambda error: None, may_fail=may_fail)
        done(None)


class ReadsOneTooMany(MemoryJournal):
    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
        return await super().read(run, after, items=items + 1, size=size)


class ReadsNothingTooLarge(MemoryJournal):
    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
        found = await super().read(run, after, items=items, size=size)
        return [] if size < 100 else found


class TakesAnyNumber(MemoryJournal):
    def _conflict(self, rows: Sequence[Row]) -> JournalConflict | None:
        return None

    def _put(self, row: Row) -> None:
        if not isinstance(row, OrderRow) and (
            not isinstance(row, EventRows) or row.id in self._runs
        ):
            super()._put(row)


class KeepsHalfAGroup(MemoryJournal):
    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        refused: dict[int, JournalConflict] = {}
        for index, rows in enumerate(groups):
            for row in rows:
                if found := await super().store([[row]]):
                    refused[index] = found[0]
        return refused


class ForgetsNumbers(MemoryJournal):
    async def get(self, run: RunId) -> Run | None:
        found = await super().get(run)
        return None if found is None else attrs.evolve(found, last_seq=Seq(0))


class SortsBackwards(MemoryJournal):
    async def find(self, which: RunFilter) -> Sequence[Run]:
        return list(reversed(await super().find(which)))


class ForgetsKeys(MemoryJournal):
    async def open_runs(self) -> Sequence[OpenRun]:
        return [attrs.evolve(found, keys={}) for found in await super().open_runs()]


class MixesSpaces(MemoryJournal):
    async def notes(self, space: str) -> Mapping[str, bytes]:
        return {k: v for found in self._notes.values() for k, v in found.items()}


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
        (AnswersAtOnce, testing.check_answers),
        (ReadsOneTooMany, testing.check_reading),
        (ReadsNothingTooLarge, testing.check_reading),
        (TakesAnyNumber, testing.check_one_sequence),
        (KeepsHalfAGroup, testing.check_one_sequence),
        (ForgetsNumbers, testing.check_runs),
        (SortsBackwards, testing.check_filters),
        (ForgetsKeys, testing.check_orders),
        (MixesSpaces, testing.check_notes),
        (NeverHasRoom, testing.check_room),
        (DropsTheLast, testing.check_leaving),
        (StaysOpen, testing.check_closed),
    ],
)
async def test_a_broken_promise_is_found(
    journal: type[MemoryJournal], check: testing.Check
) -> None:
    @asynccontextmanager
    async def open_journal(name: str) -> AsyncGenerator[MemoryJournal]:
        async with committing(journal()) as opened:
            yield opened

    with pytest.raises(AssertionError):
        await check(open_journal)


async def test_all_checks_are_made() -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def open_journal(name: str) -> AsyncGenerator[MemoryJournal]:
        opened.append(name)
        async with open_memory_journal() as journal:
            yield journal

    await testing.check_journal(open_journal, durable=False)
    assert len(set(opened)) >= len(testing.CHECKS)
    with pytest.raises(AssertionError, match="what was kept"):
        await testing.check_journal(open_journal, durable=True)


async def test_a_journal_that_never_fails_is_found_by_the_check_of_failing_ones() -> None:
    with pytest.raises(AssertionError, match="succeeded on a failing journal"):
        await testing.check_failing(lambda name: open_memory_journal(), lambda on: None)
