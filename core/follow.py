"""Following a run: a cursor into its sequence, and no queue (I8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import attrs
import trio

from fleetgate.core.commits import readable
from fleetgate.core.errors import RunNotFound
from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import Journal, JournalDamaged
from fleetgate.core.slots import Slot, Told

BATCH_ITEMS: Final = 256
"""Events of one delivery. Others come with the next."""

BATCH_SIZE: Final = 1 << 20
"""Bytes of one delivery: enough to fill a write, little enough that a slow peer pins one
megabyte."""


@attrs.frozen(slots=True, eq=False)
class Shelf:
    """Where followers of a hub read. `settled` waits while a run is just being accepted."""

    journal: Journal
    find: Callable[[RunId], Slot | None]
    settled: Callable[[RunId], Awaitable[None]]


class Follower:
    """An asynchronous iterator over batches of a run's committed events with a number above
    `after`: first what is recorded, then what comes, without gap or overlap. It does not end
    with the run: behind the last event it waits until it is cancelled. Use it in `with`.
    """

    __slots__ = ("_all_read", "_cursor", "_run", "_shelf", "_slot", "_told", "began")

    def __init__(self, shelf: Shelf, run: RunId, after: Seq, told: Told | None = None) -> None:
        """`told` is called with each news of the run meanwhile, for who does not `wait`."""
        self._shelf = shelf
        self._run = run
        self._told = told
        self.began = after
        self._cursor = after
        self._slot: Slot | None = None
        self._all_read = False

    def __enter__(self) -> Follower:
        self.join()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def join(self) -> None:
        """The beginning of `with`, for who follows many runs."""
        self._slot = self._shelf.find(self._run)
        if self._slot is not None:
            self._slot.join(self._cursor, self._told)

    def leave(self) -> None:
        """The end of `with`."""
        if self._slot is not None:
            self._slot.leave(self._cursor, self._told)
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

        Raises: `Unavailable`: the journal cannot be read now, or (`lasting`) until it is mended;
        `RunNotFound`: the run was forgotten.
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
            await slot.wait_news()
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
            batch = await self._read()
        self._reach(batch)
        return batch

    async def _read(self) -> Sequence[Recorded]:
        seen = self._cursor if self._slot is None else self._slot.visible_seq
        with readable():
            batch = await self._shelf.journal.read(
                self._run, self._cursor, items=BATCH_ITEMS, size=BATCH_SIZE
            )
            self._all_read = not batch and await self._is_all()
            if not batch and seen > self._cursor:
                # Who asks again is given nothing again, at once and without end.
                await self._ended()
                raise JournalDamaged(f"event {self._cursor + 1} is missing")
        return batch

    async def _is_all(self) -> bool:
        """Nothing is there: that is all there is of the run, unless it was forgotten meanwhile, or
        is durable and not yet accepted: then it has a slot in a moment."""
        if self._all_read:
            return True
        if await self._ended() or self._slot is not None:
            return True
        await self._shelf.settled(self._run)
        self.join()
        return self._slot is None and not await self._ended()

    async def _ended(self) -> bool:
        with readable():
            run = await self._shelf.journal.get(self._run)
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
            before, self._cursor = self._cursor, batch[-1].seq
            if self._slot is not None:
                self._slot.reach(before, self._cursor)
