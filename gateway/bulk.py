"""The driver's short way: frames in bulk from the link to the hub, and from the hub to the link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from fleetgate.core.batch import Frames, part
from fleetgate.core.events import OutputProduced, Recorded, TextProduced
from fleetgate.core.timers import Clock
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.speaking import Speaker
from fleetgate.protocols.api import Connection
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.transports.api import Pack

_PLAIN: Final = (OutputProduced, TextProduced)
"""Events of which a short way may make frames."""

_MOST: Final = 256
"""Plain events that go the long way together, where a connection takes none by the short one."""


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
        self._declined = 1
        """Plain events that go the long way when the connection declines the next: twice as many
        each time in a row, so that who has declined one is asked for the one behind it, and who
        declines all is hardly ever asked."""

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
        return bulk.taken

    def give(self, batch: Sequence[Recorded]) -> int:
        """Give events to the peer, from the first on; how many that were."""
        if self._connection is None:
            return 0
        try:
            frames = self._connection.deliver_bulk(batch, self._clock())
        except Exception as error:
            self._fault(error)
            return 0
        if frames is None:
            return 0
        self._declined = 1
        if isinstance(frames, Frames):
            frames = frames.once(Pack, partial(Pack, frames))
        self._outbox.put_all(frames)
        return len(frames)

    def long_way(self, batch: Sequence[Recorded]) -> Sequence[Recorded]:
        """What of a batch goes the long way, when nothing of it was given: up to where the short
        way may go on."""
        if self._connection is None:
            return batch
        stop = 1
        if isinstance(batch[0].event, _PLAIN):
            stop, self._declined = self._declined, min(2 * self._declined, _MOST)
        while stop < len(batch) and not isinstance(batch[stop].event, _PLAIN):
            stop += 1
        return part(batch, 0, stop)
