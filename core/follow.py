"""Following a run: a cursor into its sequence, and no queue (I8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import trio

from fleetgate.core.commits import readable
from fleetgate.core.errors import RunNotFound
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
        self,
        journal: Journal,
        find: Callable[[RunId], Slot | None],
        settled: Callable[[RunId], Awaitable[None]],
        run: RunId,
        after: Seq,
    ) -> None:
        """`settled` waits while the run is just being accepted."""
        self._journal = journal
        self._find = find
        self._settled = settled
        self._run = run
        self.began = after
        self._cursor = after
        self._slot: Slot | None = None
        self._all_read = False

    def __enter__(self) -> Follower:
        self._join()
        return self

    def _join(self) -> None:
        self._slot = self._find(self._run)
        if self._slot is not None:
            self._slot.join(self._cursor)

    def __exit__(self, *_: object) -> None:
        if self._slot is not None:
            self._slot.leave()
            self._slot = None

    @property
    def cursor(self) -> Seq:
        """The number of the last event that was taken; before that, of the one it began behind."""
        return self._cursor

    @property
    def caught_up(self) -> bool:
        """Whether it has all that is committed by now."""
        slot = self._slot
        return self._all_read if slot is None else slot.visible_seq <= self._cursor

    def __aiter__(self) -> Follower:
        return self

    async def __anext__(self) -> Sequence[Recorded]:
        """The next events, at least one. Cancelled, the cursor stands where it stood.

        Raises: `Unavailable`: the journal cannot be read now; `RunNotFound`: the run was forgotten.
        """
        while True:
            await self.wait()
            batch = await self.take()
            if batch:
                return batch

    async def wait(self) -> bool:
        """Wait until there may be something to `take`. Whether it had to: no checkpoint if not."""
        slot = self._slot
        if slot is None:
            await self._behind_the_end()
            return True
        waited = False
        while slot.visible_seq <= self._cursor:
            await slot.news.wait()
            waited = True
        return waited

    async def _behind_the_end(self) -> None:
        """Of a run that had ended, what is there is all there will ever be."""
        if self._all_read:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()

    async def take(self) -> Sequence[Recorded]:
        """What comes next, perhaps nothing. Raises and is cancelled as `__anext__`."""
        batch = self._recent()
        if batch:
            await trio.lowlevel.checkpoint()
        else:
            with readable():
                batch = await self._journal.read(
                    self._run, self._cursor, items=BATCH_ITEMS, size=BATCH_SIZE
                )
            self._all_read = not batch and await self._is_all()
        self._reach(batch)
        return batch

    async def _is_all(self) -> bool:
        """Nothing is there: that is all there is of the run, unless it was forgotten meanwhile, or
        is durable and not yet accepted: then it has a slot in a moment."""
        if self._all_read:
            return True
        if await self._ended() or self._slot is not None:
            return True
        await self._settled(self._run)
        self._join()
        return self._slot is None and not await self._ended()

    async def _ended(self) -> bool:
        with readable():
            run = await self._journal.get(self._run)
        if run is None:
            raise RunNotFound(f"run {self._run} was forgotten; its events are not kept any more")
        return run.state.terminal

    def take_recent(self) -> Sequence[Recorded]:
        """What comes next, where it is still in memory; else nothing."""
        batch = self._recent()
        self._reach(batch)
        return batch

    def _recent(self) -> Sequence[Recorded]:
        slot = self._slot
        return () if slot is None else slot.recent(self._cursor, BATCH_ITEMS, BATCH_SIZE)

    def _reach(self, batch: Sequence[Recorded]) -> None:
        if batch:
            self._cursor = batch[-1].seq
            if self._slot is not None:
                self._slot.reach(self._cursor)
