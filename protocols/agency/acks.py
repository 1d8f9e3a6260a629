"""When a daemon is told which events are safe: after so many, or so long, and at the end.

One acknowledgement of a run is under way at a time; it covers all that is safe by then.
"""

from __future__ import annotations

from fleetgate.core.ids import RunId
from fleetgate.protocols.agency.tracking import Tracked


class Acks:
    """`every` is a number of events, `delay` nanoseconds."""

    def __init__(self, every: int, delay: int) -> None:
        self._every = every
        self._delay = delay
        self._waiting: dict[RunId, tuple[int, Tracked]] = {}
        """By the time they are due: the delay is the same for all."""

    @property
    def next_at(self) -> int | None:
        """When the first of those that wait is due."""
        return next((at for at, _ in self._waiting.values()), None)

    def ready(self, tracked: Tracked, now: int) -> bool:
        """Whether to acknowledge the run now. If not, and there is something to acknowledge,
        its time begins to run."""
        safe = tracked.safe - tracked.acked
        if tracked.acking or safe <= 0:
            return False
        if safe >= self._every:
            return True
        self._waiting.setdefault(tracked.run, (now + self._delay, tracked))
        return False

    def due(self, now: int) -> list[Tracked]:
        """The runs whose time has come; it counts no more."""
        due = [tracked for at, tracked in self._waiting.values() if at <= now]
        for tracked in due:
            self.forget(tracked.run)
        return due

    def sent(self, tracked: Tracked) -> int:
        """The run is acknowledged now; answers up to where."""
        self.forget(tracked.run)
        tracked.acking = True
        tracked.acked = tracked.safe
        return tracked.safe

    def forget(self, run: RunId) -> None:
        """The run's time counts no more."""
        self._waiting.pop(run, None)
