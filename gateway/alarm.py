"""One moment to wait for, which a newer one replaces."""

from __future__ import annotations

from collections.abc import Callable

import trio

from fleetgate.core.timers import Clock
from fleetgate.core.times import SECOND


class Alarm:
    """A link's alarm clock: at most one moment is set."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: int | None = None
        self._rewound = trio.Event()

    def set(self, at: int) -> None:
        """Ring at `at` (Unix nanoseconds), in place of the moment that was set before."""
        self._at = at
        self._rewound.set()

    async def run(self, ring: Callable[[], None]) -> None:
        """Call `ring` when the moment has come, until cancelled. It may set the next one."""
        while True:
            self._rewound = trio.Event()
            if self._at is None:
                await self._rewound.wait()
                continue
            wait = max(0.0, (self._at - self._clock()) / SECOND)
            with trio.move_on_after(wait) as scope:
                await self._rewound.wait()
            if scope.cancelled_caught and self._at <= self._clock():
                self._at = None
                ring()
