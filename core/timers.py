"""Deadlines by the gateway's clock: one task, one heap."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Final, Protocol

import trio

from fleetgate.core.times import SECOND


class Clock(Protocol):
    """Unix nanoseconds that never fall and pass as trio's time does."""

    def __call__(self) -> int: ...


MANY: Final = 64
"""Cancelled deadlines below which the heap is left as it is."""


class Timer:
    """One deadline. `cancel` is idempotent and harmless after it has fired."""

    __slots__ = ("_act", "_canceled")

    def __init__(self, act: Callable[[], None], canceled: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act
        self._canceled = canceled

    @property
    def pending(self) -> bool:
        """Whether it will still fire."""
        return self._act is not None

    def cancel(self) -> None:
        """Forget it."""
        if self._act is not None:
            self._act = None
            self._canceled()

    def fire(self) -> None:
        """Do it, once."""
        act, self._act = self._act, None
        if act is not None:
            act()


class Timers:
    """The deadlines of one hub. What a deadline does is a plain call that must not raise."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[int, int, Timer]] = []
        self._dead = 0
        self._order = count()
        self._changed = trio.Event()

    def __len__(self) -> int:
        """Deadlines in the heap, cancelled ones that are still in it among them."""
        return len(self._heap)

    def at(self, when: int, act: Callable[[], None]) -> Timer:
        """Call `act` at `when` (Unix nanoseconds), or at once if that has passed."""
        timer = Timer(act, self._canceled)
        heapq.heappush(self._heap, (when, next(self._order), timer))
        if self._heap[0][2] is timer:
            self._changed.set()
        return timer

    def _canceled(self) -> None:
        """Deadlines may lie a day ahead, and most are cancelled long before: keep fewer dead
        ones than live ones."""
        self._dead += 1
        if self._dead > MANY and self._dead * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].pending]
            heapq.heapify(self._heap)
            self._dead = 0

    async def run(self) -> None:
        """Fire deadlines until cancelled."""
        while True:
            self._changed = trio.Event()
            self._fire_due()
            with trio.move_on_after(self._until_next()):
                await self._changed.wait()

    def _fire_due(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            timer = heapq.heappop(self._heap)[2]
            self._dead -= not timer.pending
            timer.fire()

    def _until_next(self) -> float:
        if not self._heap:
            return float("inf")
        return max(0.0, (self._heap[0][0] - self._clock()) / SECOND)
