"""The driver's short way: frames in bulk from the link to the hub, and from the hub to the link."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleetgate.core.events import Recorded
from fleetgate.core.timers import Clock
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.speaking import Speaker
from fleetgate.protocols.api import Connection
from fleetgate.protocols.bulk import BulkConnection


class ShortWay:
    """One link's. Where its connection has none, nothing goes by it. `fault` is told what the
    connection raises, which ends the link (I11)."""

    def __init__(
        self,
        connection: Connection,
        speaker: Speaker,
        outbox: Outbox,
        clock: Clock,
        fault: Callable[[Exception], None],
    ) -> None:
        self._connection = connection if isinstance(connection, BulkConnection) else None
        self._speaker = speaker
        self._outbox = outbox
        self._clock = clock
        self._fault = fault

    def take(self, frames: Sequence[bytes]) -> int:
        """Take frames from the first on; how many that were. They are with the speaker."""
        if self._connection is None:
            return 0
        try:
            bulk = self._connection.receive_bulk(frames, self._clock())
        except Exception as error:
            self._fault(error)
            return 0
        if bulk is None:
            return 0
        self._speaker.hear(bulk)
        return len(bulk.heard)

    def give(self, batch: Sequence[Recorded]) -> bool:
        """Give a batch to the peer; whether that was done."""
        if self._connection is None:
            return False
        try:
            frames = self._connection.deliver_bulk(batch, self._clock())
        except Exception as error:
            self._fault(error)
            return False
        if frames is None:
            return False
        self._outbox.put_all(frames)
        return True
