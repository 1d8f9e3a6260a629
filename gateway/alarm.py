"""One moment to wait for, which a newer one replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fleetgate.core.timers import Timer

At: TypeAlias = Callable[[int, Callable[[], None]], Timer]
"""Has something called at a moment (Unix nanoseconds): `Hub.at`."""


class Alarm:
    """A link's alarm clock: at most one moment is set. It has no task of its own, which would take
    more than all else that an idle link has in the gateway."""

    __slots__ = ("_alarm_at", "_at", "_moment", "_ring", "_timer")

    def __init__(self, at: At, ring: Callable[[], None]) -> None:
        """`ring` is called when the moment has come. It may set the next one."""
        self._alarm_at = at
        self._ring = ring
        self._at: int | None = None
        self._timer: Timer | None = None
        self._moment = 0

    def set(self, at: int) -> None:
        """Ring at `at` (Unix nanoseconds), in place of the moment that was set before."""
        self._at = at
        if self._timer is not None:
            # A later one is looked at when this one has come: most are put off again and again,
            # by whatever a peer says.
            if at >= self._moment:
                return
            self._timer.cancel()
        self._wind(at)

    def _wind(self, at: int) -> None:
        self._moment = at
        self._timer = self._alarm_at(at, self._come)

    def _come(self) -> None:
        self._timer = None
        if self._at is None:
            return
        if self._at > self._moment:
            self._wind(self._at)
            return
        self._at = None
        self._ring()

    def stop(self) -> None:
        """Ring no more."""
        self._at = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
