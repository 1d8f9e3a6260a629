"""A journal in memory: for tests, for fakes, for trying things out. Nothing outlives it.

It keeps the same records as the durable one and commits in the same manner, later and
in groups, so whoever works with this one works with that one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import assert_never

import attrs
import trio

from fleetgate.core.events import Recorded
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.journal.api import (
    ForgetRun,
    FreeForgotten,
    JournalConflict,
    JournalFailing,
    MarkOrder,
    OpenOrder,
    OpenRun,
    PutKey,
    PutNote,
    RunFilter,
)
from fleetgate.core.journal.queued import QueuedJournal, committing
from fleetgate.core.journal.records import decode_event, decode_order, decode_run
from fleetgate.core.journal.rows import (
    EventRows,
    OrderRow,
    Row,
    RunRow,
    Standing,
    conflict_of,
    size,
)
from fleetgate.core.run import Run


@attrs.define(slots=True)
class _Kept:
    """All that is kept of one run."""

    row: RunRow
    events: list[bytes] = attrs.field(factory=list[bytes])
    orders: dict[OrderNumber, bytes] = attrs.field(factory=dict[OrderNumber, bytes])
    sent: set[OrderNumber] = attrs.field(factory=set[OrderNumber])
    keys: dict[str, OrderNumber] = attrs.field(factory=dict[str, OrderNumber])

    def run(self) -> Run:
        row = self.row
        return decode_run(row.id, row.last_seq, row.native_seq, row.record, row.specs)

    def size(self) -> int:
        """Bytes of its records."""
        return size(self.row) + sum(map(len, self.events)) + sum(map(len, self.orders.values()))

    def open_run(self) -> OpenRun:
        orders = tuple(
            OpenOrder(decode_order(self.row.id, number, record), number in self.sent)
            for number, record in sorted(self.orders.items())
        )
        keys = sorted(self.keys.items(), key=lambda known: (known[1], known[0].encode()))
        return OpenRun(self.run(), orders, dict(keys))


class MemoryJournal(QueuedJournal):
    """A journal in memory. Open one with `open_memory_journal`."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[RunId, _Kept] = {}
        self._notes: dict[str, dict[str, bytes]] = {}
        self._fault: str | None = None

    def fail(self, reason: str | None) -> None:
        """Let every commit fail for `reason` from now on, or with None succeed again: for
        tests of what stands on a journal."""
        self._fault = reason

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        await trio.lowlevel.checkpoint()
        if self._fault is not None:
            raise JournalFailing(self._fault)
        refused: dict[int, JournalConflict] = {}
        for index, rows in enumerate(groups):
            conflict = self._conflict(rows)
            if conflict is None:
                for row in rows:
                    self._put(row)
            else:
                refused[index] = conflict
        return refused

    def _conflict(self, rows: Sequence[Row]) -> JournalConflict | None:
        """Why `rows` cannot be put one after the other; asked before the first of them is."""
        stood: dict[RunId, Standing | None] = {}
        for row in rows:
            if isinstance(row, MarkOrder | PutNote | FreeForgotten):
                continue
            id = row.run if isinstance(row, OrderRow | PutKey | ForgetRun) else row.id
            known = stood.get(id, self._standing(id))
            conflict = conflict_of(row, known)
            if conflict is not None:
                return conflict
            match row:
                case RunRow():
                    stood[id] = Standing(row.last_seq, row.open)
                case EventRows():
                    stood[id] = Standing(row.last, row.run is None or row.run.open)
                case ForgetRun():
                    stood[id] = None
                case OrderRow() | PutKey():
                    pass
        return None

    def _standing(self, id: RunId) -> Standing | None:
        kept = self._runs.get(id)
        return None if kept is None else Standing(kept.row.last_seq, kept.row.open)

    def _put(self, row: Row) -> None:
        match row:
            case RunRow():
                self._runs.setdefault(row.id, _Kept(row)).row = row
            case EventRows():
                kept = self._runs[row.id]
                kept.events.extend(row.records)
                kept.row = row.run or attrs.evolve(
                    kept.row, last_seq=row.last, native_seq=row.native_seq
                )
            case OrderRow():
                kept = self._runs[row.run]
                kept.orders[row.number] = row.record
                kept.sent.discard(row.number)
            case PutKey():
                self._key(row)
            case MarkOrder():
                self._mark(row)
            case PutNote():
                self._note(row)
            case ForgetRun():
                self._runs.pop(row.run, None)
            case FreeForgotten():
                pass
            case _:
                assert_never(row)

    def _key(self, row: PutKey) -> None:
        keys = self._runs[row.run].keys
        if row.number is None:
            keys.pop(row.key, None)
        else:
            keys[row.key] = row.number

    def _mark(self, row: MarkOrder) -> None:
        kept = self._runs.get(row.run)
        if kept is None or row.number not in kept.orders:
            return
        if row.settled:
            del kept.orders[row.number]
            kept.sent.discard(row.number)
        else:
            kept.sent.add(row.number)

    def _note(self, row: PutNote) -> None:
        space = self._notes.setdefault(row.space, {})
        if row.value is None:
            space.pop(row.key, None)
        else:
            space[row.key] = row.value

    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
        await trio.lowlevel.checkpoint()
        kept = self._runs.get(run)
        batch: list[Recorded] = []
        for record in () if kept is None else kept.events[after : after + items]:
            size -= len(record)
            if batch and size < 0:
                break
            batch.append(decode_event(run, Seq(after + len(batch) + 1), record))
        return batch

    async def get(self, run: RunId) -> Run | None:
        await trio.lowlevel.checkpoint()
        kept = self._runs.get(run)
        return None if kept is None else kept.run()

    async def find(
        self, which: RunFilter, *, after: str = "", items: int | None = None
    ) -> Sequence[Run]:
        await trio.lowlevel.checkpoint()
        start = after.encode()
        found = [kept for kept in self._runs.values() if _matches(kept.row, which)]
        found = [kept for kept in found if kept.row.id.encode() > start]
        found.sort(key=lambda kept: kept.row.id.encode())
        return [kept.run() for kept in found[:items]]

    async def latest(self, link: str, *, items: int) -> Sequence[Run]:
        await trio.lowlevel.checkpoint()
        rows = [kept for kept in self._runs.values() if kept.row.link == link]
        found = [kept for kept in rows if not kept.row.open]
        found.sort(key=lambda kept: kept.row.ended, reverse=True)
        return [kept.run() for kept in found[:items]]

    async def open_runs(self) -> Sequence[OpenRun]:
        await trio.lowlevel.checkpoint()
        found = [kept for kept in self._runs.values() if kept.row.open]
        return [kept.open_run() for kept in sorted(found, key=lambda kept: kept.row.created)]

    async def knows(self, run: RunId, key: str) -> bool:
        await trio.lowlevel.checkpoint()
        kept = self._runs.get(run)
        return kept is not None and key in kept.keys

    async def ended(self, before: int, *, acknowledged: bool, items: int) -> Sequence[RunId]:
        await trio.lowlevel.checkpoint()
        rows = [kept.row for kept in self._runs.values() if not kept.row.open]
        found = [row for row in rows if row.ended < before and row.pending is not acknowledged]
        found.sort(key=lambda row: row.ended)
        return [row.id for row in found[:items]]

    async def used(self) -> int:
        await trio.lowlevel.checkpoint()
        return sum(kept.size() for kept in self._runs.values())

    async def unfreed(self) -> bool:
        await trio.lowlevel.checkpoint()
        return False

    async def notes(self, space: str) -> Mapping[str, bytes]:
        await trio.lowlevel.checkpoint()
        return dict(self._notes.get(space, {}))


def _matches(row: RunRow, which: RunFilter) -> bool:
    return (
        (which.link is None or row.link == which.link)
        and (row.open or not which.open_only)
        and (row.pending or not which.unacknowledged)
    )


@asynccontextmanager
async def open_memory_journal() -> AsyncGenerator[MemoryJournal]:
    """A new, empty journal in memory."""
    async with committing(MemoryJournal()) as journal:
        yield journal
