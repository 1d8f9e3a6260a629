"""When events of a run passed a point, as far as it is remembered: in memory only, and only the
passages that were last. Nothing depends on it but what operators are told, so it costs those who
pass next to nothing: they are noted in one line, and whoever asks looks through it."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Final, Protocol, TypeAlias
from weakref import WeakSet

import attrs

from fleetgate.core.ids import Epoch, RunId, WorkerId
from fleetgate.core.timers import Clock

NOTED: Final = 1 << 16
"""Passages that are remembered, ten megabytes: each is one group commit, one batch that was sent,
or one acknowledgement. Beyond it the oldest is forgotten."""

LINKS: Final = 4096
"""Links of workers; beyond it the oldest is forgotten."""

Point: TypeAlias = tuple[str, ...]
"""What events pass: `STORED`, `ACKNOWLEDGED`, or `SENT` with an entry and its peer."""

STORED: Final = ("stored",)
ACKNOWLEDGED: Final = ("acknowledged",)
SENT: Final = "sent"


@attrs.frozen(slots=True)
class Sent:
    """Whom events of a run were sent to: those above `after`, up to `through` so far. `now`: it
    follows the run still."""

    entry: str
    peer: str
    after: int
    through: int
    now: bool


class Teller(Protocol):
    """A link that events are sent to."""

    @property
    def link(self) -> tuple[str, str]:
        """Its entry, and its peer."""
        ...

    def reached(self, run: RunId) -> tuple[int, int] | None:
        """The numbers behind which it began, and that it has got to; None: it does not follow."""
        ...


class Passages:
    """Remembers passages. `since`: when it began to, in Unix nanoseconds. No method blocks."""

    def __init__(self, clock: Clock, most: int = NOTED) -> None:
        self.since = clock()
        self.tellers: WeakSet[Teller] = WeakSet()
        """The links that are told of runs, as long as they are there."""
        self._clock = clock
        self._noted: deque[tuple[RunId, Point, int, int]] = deque(maxlen=most)
        self._links: OrderedDict[tuple[WorkerId, Epoch], tuple[str, str]] = OrderedDict()

    def mark(self, run: RunId, point: Point, through: int) -> None:
        """Events up to `through` have passed. Where a follower begins, those that it did not ask
        for have."""
        self._noted.append((run, point, through, self._clock()))

    def _of(self, run: RunId, point: Point) -> Iterator[tuple[int, int]]:
        return ((each[2], each[3]) for each in self._noted if each[0] == run and each[1] == point)

    def when(self, run: RunId, point: Point, seq: int) -> int | None:
        """By when an event had passed, in Unix nanoseconds. None: it has not, or that is not
        remembered."""
        known = len(self._noted) != self._noted.maxlen
        for through, time in self._of(run, point):
            if through >= seq:
                return time if known else None
            known = True
        return None

    def sent(self, run: RunId) -> list[Sent]:
        """Whom events of a run were sent to: those who follow it now, and those of whom that is
        remembered."""
        live: dict[tuple[str, str], Sent] = {}
        for teller in self.tellers:
            if (reached := teller.reached(run)) is not None:
                live[teller.link] = Sent(*teller.link, *reached, now=True)
        gone: dict[tuple[str, str], Sent] = {}
        for noted, point, through, _ in self._noted:
            if noted != run or point[0] != SENT or (point[1], point[2]) in live:
                continue
            link = (point[1], point[2])
            after = gone[link].after if link in gone else through
            gone[link] = Sent(*link, after, through, now=False)
        return [*gone.values(), *live.values()]

    def came(self, worker: WorkerId, epoch: Epoch, entry: str, peer: str) -> None:
        """A worker was admitted; said again, it is known by which peer's link."""
        self._links[worker, epoch] = (entry, peer)
        if len(self._links) > LINKS:
            self._links.popitem(last=False)

    def link(self, worker: WorkerId, epoch: Epoch) -> tuple[str, str] | None:
        """The entry and the peer of a worker's link (empty: it came by none, or that is not
        known); None: it is not remembered."""
        return self._links.get((worker, epoch))
