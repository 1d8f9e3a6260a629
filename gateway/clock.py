"""The gateway's clock."""

from __future__ import annotations

import time

import trio

from fleetgate.core.times import SECOND


class Clock:
    """Unix nanoseconds that never fall. Made and called inside `trio.run`.

    The wall clock is read once, when it is made; from then on it goes as trio's clock
    does. So a wall clock that is set back moves nothing, and virtual time is virtual.
    """

    def __init__(self) -> None:
        self._base = time.time_ns()
        self._start = trio.current_time()

    def __call__(self) -> int:
        """Now."""
        return self.at(trio.current_time())

    def at(self, moment: float) -> int:
        """What it shows, or showed, when trio's clock is at `moment`."""
        return self._base + round((moment - self._start) * SECOND)
