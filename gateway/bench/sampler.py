"""Where a program's processor time goes, without slowing it down.

A profiler that is told of each call costs more than what it measures: an event of a bridge has some
sixty calls, and with cProfile takes three to eight times as long. So a timer's signal has the event
loop's thread say now and then what it is at, and what the thread's clock has counted since then is
counted there.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Final

import attrs

from fleetgate.gateway.bench.rooms import place_of

EVERY: Final = 0.001
"""Seconds between two looks: some forty events of a busy bridge."""

THREADS: Final = ("journal", "other threads: SQLite, for the journal")
"""Where the time of all threads but the event loop's is counted: they are the journal's."""


@attrs.frozen(slots=True)
class Spot:
    """Seconds of processor time that a function of a room took, without the functions of ours, of
    trio's or of a library's written in Python that it called."""

    room: str
    function: str
    seconds: float


class Sampler:
    """Looks at the main thread, from `begin` to `end`, which that thread calls."""

    def __init__(self, clock: Callable[[], int] = time.thread_time_ns) -> None:
        """`clock`: nanoseconds of processor time of the thread that calls it."""
        self._clock = clock
        self._spent: Counter[tuple[str, str]] = Counter()
        self._last = 0
        self._looking = False
        """On a busy machine the next signal may come before this one was looked at."""
        self._others: Mapping[int, float] = {}

    def begin(self) -> None:
        """Look from now on. No event loop is woken by it: that would be work of its own."""
        self._others = other_threads()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGALRM, self.look)
        signal.setitimer(signal.ITIMER_REAL, EVERY, EVERY)
        self._last = self._clock()

    def look(self, _signal: int, frame: FrameType | None) -> None:
        """Count the time since the last look, but for that of looking itself."""
        if not self._looking:
            self._looking = True
            spent = self._clock() - self._last
            self._spent[place_of(frame)] += spent
            self._last, self._looking = self._clock(), False

    def end(self) -> list[Spot]:
        """Look no more. What was found, the largest first."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._looking = True  # the last signal may still come
        spots = [Spot(*place, spent / 1e9) for place, spent in self._spent.items()]
        before = self._others
        now = other_threads()
        threads = sum(spent - before.get(each, 0.0) for each, spent in now.items())
        return sorted([*spots, Spot(*THREADS, threads)], key=lambda spot: -spot.seconds)


def other_threads() -> dict[int, float]:
    """Processor seconds of each thread but this one."""
    found = (each.ident for each in threading.enumerate() if each is not threading.current_thread())
    return {
        ident: time.clock_gettime(time.pthread_getcpuclockid(ident))
        for ident in found
        if ident is not None
    }
