"""Signs of life, ours and the peer's."""

from __future__ import annotations

from typing import Final

from fleetgate.protocols.deadlines import Deadlines

BEAT: Final = "beat"
DEAD: Final = "dead"


class Pulse:
    """`every` is how long we are silent before a heartbeat, `patience` how long the peer may be,
    both nanoseconds. The deadlines `BEAT` and `DEAD` are kept here; they are not moved with each
    message, but looked at when they come."""

    def __init__(self, deadlines: Deadlines, every: float, patience: float) -> None:
        self._deadlines = deadlines
        self._every = round(every)
        self._patience = round(patience)
        self._heard = 0
        self._said = 0

    def begin(self, now: int) -> None:
        """The link is registered."""
        self._heard = self._said = now
        self._deadlines.set(BEAT, now + self._every)
        self._deadlines.set(DEAD, now + self._patience)

    def hear(self, now: int) -> None:
        """Something came."""
        self._heard = now

    def say(self, now: int) -> None:
        """Something was sent."""
        self._said = now

    def beats(self, now: int) -> bool:
        """`BEAT` has come: whether a heartbeat is to be sent."""
        silent = now - self._said >= self._every
        if silent:
            self._said = now
        self._deadlines.set(BEAT, self._said + self._every)
        return silent

    def dead(self, now: int) -> bool:
        """`DEAD` has come: whether the peer is."""
        if now - self._heard >= self._patience:
            return True
        self._deadlines.set(DEAD, self._heard + self._patience)
        return False
