"""The checks of what a journal keeps fail those that keep something else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import attrs
import pytest

from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal import checks_kept
from fleetgate.core.journal.api import JournalConflict, OpenRun, PutKey, RunFilter
from fleetgate.core.journal.memory import MemoryJournal
from fleetgate.core.journal.queued import committing
from fleetgate.core.journal.rows import EventRows, OrderRow, Row
from fleetgate.core.journal.testing import Check
from fleetgate.core.run import Run


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
        if not isinstance(row, OrderRow | PutKey) and (
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
    async def find(
        self, which: RunFilter, *, after: str = "", items: int | None = None
    ) -> Sequence[Run]:
        return list(reversed(await super().find(which, after=after, items=items)))


class SkipsOneBetweenPages(MemoryJournal):
    async def find(
        self, which: RunFilter, *, after: str = "", items: int | None = None
    ) -> Sequence[Run]:
        found = await super().find(which, after=after)
        return found[bool(after) :][:items]


class ForgetsKeys(MemoryJournal):
    async def open_runs(self) -> Sequence[OpenRun]:
        return [attrs.evolve(found, keys={}) for found in await super().open_runs()]


class MixesSpaces(MemoryJournal):
    async def notes(self, space: str) -> Mapping[str, bytes]:
        return {k: v for found in self._notes.values() for k, v in found.items()}


@pytest.mark.parametrize(
    ("journal", "check"),
    [
        (ReadsOneTooMany, checks_kept.check_reading),
        (ReadsNothingTooLarge, checks_kept.check_reading),
        (TakesAnyNumber, checks_kept.check_one_sequence),
        (KeepsHalfAGroup, checks_kept.check_one_sequence),
        (ForgetsNumbers, checks_kept.check_runs),
        (SortsBackwards, checks_kept.check_filters),
        (SkipsOneBetweenPages, checks_kept.check_filters),
        (ForgetsKeys, checks_kept.check_keys),
        (MixesSpaces, checks_kept.check_notes),
    ],
)
async def test_a_broken_promise_is_found(journal: type[MemoryJournal], check: Check) -> None:
    @asynccontextmanager
    async def open_journal(name: str) -> AsyncGenerator[MemoryJournal]:
        async with committing(journal()) as opened:
            yield opened

    with pytest.raises(AssertionError):
        await check(open_journal)
