"""Those who watch workers come and go. A notice is not kept: it is for who is watching now."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from enum import Enum, unique
from typing import TypeAlias

import attrs

from fleetgate.core.json import Json
from fleetgate.core.worker import HERE, WorkerInfo, WorkerStatus


@unique
class Happening(Enum):
    """What a notice is about."""

    PRESENT = "present"
    """The worker was connected when the watch began."""
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    LOST = "lost"
    """It did not return in time; its runs are lost."""
    TOLD = "told"
    """Something that a peer told; `body` is in its protocol's words."""


@attrs.frozen(slots=True)
class WorkerNotice:
    """`worker` is whom it is about, None where a controller's link told something. `reason` says
    why a worker is gone. `time` is Unix nanoseconds."""

    happening: Happening
    worker: WorkerInfo | None
    time: int
    reason: str = ""
    body: Json = None


Tell: TypeAlias = Callable[[WorkerNotice], None]


class Watchers:
    """`pools` answers the southbound entries that a northbound one is routed to. A `tell` must
    not block or raise."""

    def __init__(self, pools: Callable[[str], Container[str]], clock: Callable[[], int]) -> None:
        self._pools = pools
        self._clock = clock
        self._watching: dict[int, tuple[str, Tell]] = {}
        self._count = 0

    def watch(self, link: str, tell: Tell, known: Iterable[WorkerStatus]) -> Callable[[], None]:
        """Tell of the workers that `link` is routed to, first of those of `known` that are here;
        what comes back ends it."""
        for each in known:
            if each.liveness in HERE and self.sees(link, each.info):
                tell(WorkerNotice(Happening.PRESENT, each.info, each.since))
        self._count += 1
        number = self._count
        self._watching[number] = (link, tell)
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        self._watching.pop(number, None)

    def sees(self, link: str, worker: WorkerInfo | None) -> bool:
        """Whether a watcher of `link` is told of it."""
        return worker is None or worker.pool in self._pools(link)

    def tell(
        self,
        happening: Happening,
        worker: WorkerInfo | None,
        reason: str = "",
        body: Json = None,
    ) -> None:
        """Tell all who watch it."""
        notice = WorkerNotice(happening, worker, self._clock(), reason, body)
        for link, tell in list(self._watching.values()):
            if self.sees(link, worker):
                tell(notice)
