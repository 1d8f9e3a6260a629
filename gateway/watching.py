"""What one link watches of the workers, as long as it keeps up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from fleetgate.core.hub import Hub
from fleetgate.core.watchers import WorkerNotice
from fleetgate.gateway.outbox import Outbox
from fleetgate.protocols.api import Close, Connection, Steps

EXHAUSTED: Final = 8
"""gRPC's RESOURCE_EXHAUSTED."""


class Watch:
    """Tells of workers, as a controller's `entry` sees them, from `start` to `stop`. Notices are
    not kept: where the outbox is full the link is closed."""

    def __init__(
        self,
        hub: Hub,
        outbox: Outbox,
        connection: Connection,
        call: Callable[[Callable[[int], Steps]], None],
        close: Callable[[Close], None],
    ) -> None:
        self.entry = ""
        self._hub = hub
        self._outbox = outbox
        self._connection = connection
        self._call = call
        self._close = close
        self._end: Callable[[], None] | None = None

    def start(self) -> None:
        """Tell who is here, and of changes. Starting again changes nothing."""
        if self._end is None:
            self._end = self._hub.watch(self.entry, self._notice)

    def stop(self) -> None:
        """Tell nothing more."""
        if self._end is not None:
            self._end()

    def _notice(self, notice: WorkerNotice) -> None:
        if self._outbox.full:
            self._close(Close(1008, "the peer is too slow a watcher", status=EXHAUSTED))
        else:
            self._call(partial(self._connection.noticed, notice))
