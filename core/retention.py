"""What the journal forgets: runs that have ended, by age and by size, and never an open one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio

from fleetgate.core.commits import readable
from fleetgate.core.errors import Unavailable
from fleetgate.core.journal.api import ForgetRun, FreeForgotten, JournalError
from fleetgate.core.ledger import Ledger

EVERY: Final = 10.0
"""Seconds between two looks."""

AT_ONCE: Final = 64
"""Runs that one commit forgets: each is a few rows, and who is next waits for all of them."""

NEVER: Final = (1 << 63) - 1
"""An instant that is always ahead."""


class Retention:
    """Forgets runs as `Limits` say: `keep_ended`, `keep_unacknowledged`, `journal_size`.

    A run that somebody is just changing is left for the next look. One that a follower still
    reads goes all the same, and the follower is told that it is not found.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._journal = ledger.journal
        self.changed: Callable[[bool], None] = _nobody
        """Told that the journal has reached its size and nothing of it may go, and that it is
        below it again."""

    async def run(self) -> None:
        """Look again and again, until cancelled; once, where everything is kept. A journal that
        fails is left alone until the next look: others say that it does."""
        while True:
            with suppress(JournalError, Unavailable):
                await self.look()
                if not self._wanted:
                    return
            await trio.sleep(EVERY)

    @property
    def full(self) -> bool:
        """Whether starts are refused because of the journal's size."""
        return self._ledger.full

    @property
    def _wanted(self) -> bool:
        limits = self._ledger.limits
        bounds = (limits.keep_ended, limits.keep_unacknowledged, limits.journal_size)
        return any(bound is not None for bound in bounds)

    async def look(self) -> None:
        """Forget what is to be forgotten by now, and have its room freed.

        Raises: `Unavailable`, `JournalError`: the journal fails, and some of it is done.
        """
        limits = self._ledger.limits
        await self._forget_older(limits.keep_ended, acknowledged=True)
        await self._forget_older(limits.keep_unacknowledged, acknowledged=False)
        await self._free()
        if limits.journal_size is not None:
            self._stand(await self._shrink(limits.journal_size))

    def _stand(self, full: bool) -> None:
        before, self._ledger.full = self._ledger.full, full
        if before is not full:
            self.changed(full)

    async def _forget_older(self, keep: int | None, *, acknowledged: bool) -> None:
        if keep is not None:
            before = self._ledger.clock() - keep
            while await self._forget(before, acknowledged=acknowledged) == AT_ONCE:
                pass

    async def _shrink(self, size: int) -> bool:
        """Forget acknowledged runs, those that ended first, until the journal is below `size`.
        Whether it is not, and there are none."""
        while await self._used() > size:
            if not await self._forget(NEVER, acknowledged=True, most=1):
                return True
            await self._free()
        return False

    async def _used(self) -> int:
        with readable():
            return await self._journal.used()

    async def _forget(self, before: int, *, acknowledged: bool, most: int = AT_ONCE) -> int:
        """Forget at most so many; answers how many."""
        with readable():
            found = await self._journal.ended(before, acknowledged=acknowledged, items=AT_ONCE)
        going = [ForgetRun(id) for id in found if not self._ledger.in_hand(id)][:most]
        if going:
            await self._journal.commit(going)
        return len(going)

    async def _free(self) -> None:
        while await self._unfreed():
            await self._journal.commit([FreeForgotten()])

    async def _unfreed(self) -> bool:
        with readable():
            return await self._journal.unfreed()


def _nobody(full: bool) -> None:
    """Nobody wants to be told."""
