"""Deadlines by the gateway's clock: one task, one heap."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Final, Protocol

import trio

NANOS: Final = 1_000_000_000


class Clock(Protocol):
    """Unix nanoseconds that never fall and pass as trio's time does."""

    def __call__(self) -> int: ...


class Timer:
    """One deadline. `cancel` is idempotent and harmless after it has fired."""

    __slots__ = ("_act",)

    def __init__(self, act: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act

    def cancel(self) -> None:
        """Forget it."""
        self._act = None

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
        self._order = count()
        self._changed = trio.Event()

    def at(self, when: int, act: Callable[[], None]) -> Timer:
        """Call `act` at `when` (Unix nanoseconds), or at once if that has passed."""
        timer = Timer(act)
        heapq.heappush(self._heap, (when, next(self._order), timer))
        if self._heap[0][2] is timer:
            self._changed.set()
        return timer

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
            heapq.heappop(self._heap)[2].fire()

    def _until_next(self) -> float:
        if not self._heap:
            return float("inf")
        return max(0.0, (self._heap[0][0] - self._clock()) / NANOS)
