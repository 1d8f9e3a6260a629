"""Following a run: a cursor into its sequence, and no queue (I8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import Journal
from fleetgate.core.slots import Slot

BATCH_ITEMS: Final = 256
BATCH_SIZE: Final = 1 << 20
"""One delivery: enough to fill a write, little enough that a slow peer pins one megabyte."""


class Follower:
    """An asynchronous iterator over batches of a run's committed events with a number above
    `after`: first what is recorded, then what comes, without gap or overlap. It does not end
    with the run: behind the last event it waits until it is cancelled. Use it in `with`.
    """

    def __init__(
        self, journal: Journal, find: Callable[[RunId], Slot | None], run: RunId, after: Seq
    ) -> None:
        self._journal = journal
        self._find = find
        self._run = run
        self._cursor = after
        self._slot: Slot | None = None

    def __enter__(self) -> Follower:
        self._slot = self._find(self._run)
        if self._slot is not None:
            self._slot.join(self._cursor)
        return self

    def __exit__(self, *_: object) -> None:
        if self._slot is not None:
            self._slot.leave()
            self._slot = None

    def __aiter__(self) -> Follower:
        return self

    async def __anext__(self) -> Sequence[Recorded]:
        """The next events, at least one. Cancelled, the cursor stands where it stood."""
        while True:
            news = self._slot.news if self._slot is not None else None
            batch = await self._next()
            if batch:
                self._cursor = batch[-1].seq
                if self._slot is not None:
                    self._slot.reach(self._cursor)
                return batch
            if news is None:
                await trio.sleep_forever()
            else:
                await news.wait()

    async def _next(self) -> Sequence[Recorded]:
        slot = self._slot
        if slot is not None:
            if slot.visible_seq <= self._cursor:
                return ()
            recent = slot.recent(self._cursor, BATCH_ITEMS, BATCH_SIZE)
            if recent:
                await trio.lowlevel.checkpoint()
                return recent
        return await self._journal.read(self._run, self._cursor, items=BATCH_ITEMS, size=BATCH_SIZE)
