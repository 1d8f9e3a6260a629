"""A journal that tells what is written to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import (
    Done,
    Journal,
    OpenRun,
    Pressure,
    PutRun,
    RunFilter,
    Write,
)
from fleetgate.core.run import Run

Tell: TypeAlias = Callable[[Sequence[Write]], None]
"""Told of writes once they are durable, in order. It must not raise, nor wait."""


class ToldJournal(Journal):
    """Another journal, and somebody who is told of what is put in line there."""

    def __init__(self, kept: Journal, tell: Tell) -> None:
        self._kept = kept
        self._tell = tell

    def enqueue(self, writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        """As the other one; who is told hears of it first."""
        written = tuple(writes)

        def told(error: Exception | None) -> None:
            if error is None:
                self._tell(written)
            done(error)

        self._kept.enqueue(written, told, may_fail=may_fail)

    async def commit(self, writes: Sequence[Write]) -> None:
        """As the other one."""
        await self._kept.commit(writes)
        self._tell(writes)

    def pressure(self) -> Pressure:
        """As the other one."""
        return self._kept.pressure()

    def watch(self, changed: Callable[[str | None], None]) -> None:
        """As the other one."""
        self._kept.watch(changed)

    @property
    def has_room(self) -> bool:
        """As the other one."""
        return self._kept.has_room

    async def wait_room(self) -> None:
        """As the other one."""
        await self._kept.wait_room()

    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
        """As the other one."""
        return await self._kept.read(run, after, items=items, size=size)

    async def get(self, run: RunId) -> Run | None:
        """As the other one."""
        return await self._kept.get(run)

    async def find(
        self, which: RunFilter, *, after: str = "", items: int | None = None
    ) -> Sequence[Run]:
        """As the other one."""
        return await self._kept.find(which, after=after, items=items)

    async def latest(self, link: str, *, items: int) -> Sequence[Run]:
        """As the other one."""
        return await self._kept.latest(link, items=items)

    async def open_runs(self) -> Sequence[OpenRun]:
        """As the other one; who is told hears of the runs, too."""
        found = await self._kept.open_runs()
        self._tell([PutRun(each.run) for each in found])
        return found

    async def knows(self, run: RunId, key: str) -> bool:
        """As the other one."""
        return await self._kept.knows(run, key)

    async def ended(self, before: int, *, acknowledged: bool, items: int) -> Sequence[RunId]:
        """As the other one."""
        return await self._kept.ended(before, acknowledged=acknowledged, items=items)

    async def used(self) -> int:
        """As the other one."""
        return await self._kept.used()

    async def unfreed(self) -> bool:
        """As the other one."""
        return await self._kept.unfreed()

    async def notes(self, space: str) -> Mapping[str, bytes]:
        """As the other one."""
        return await self._kept.notes(space)
