"""The short way: what comes and goes in bulk, in one call and without a step for each piece.

A busy worker's frames that come together are nearly all the next output of its runs, and a batch
of such events is nearly always as many frames. A connection that can tell so takes them at once.
Whatever it does not take goes the long way, by `receive` and `deliver`, which would have done the
same: the short way changes what a frame costs, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import attrs

from fleetgate.core.events import Event, Recorded, Stamp
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import Connection

Heard: TypeAlias = tuple[Sequence[Event], int | None, Stamp | None]
"""The members of a `Record` but for its run: events, the worker's own number, what it says
beside them."""


@attrs.frozen(slots=True)
class Bulk:
    """What the first `taken` of some frames were: a `Record` of a run each, of text or output, and
    no more. `heard` has them by run. Of one run they are in order; what two runs say has none."""

    taken: int
    heard: Mapping[RunId, Sequence[Heard]]


class BulkConnection(Connection):
    """A connection with a short way in, or out, or both. Neither raises."""

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        """Take as many frames as are each one plain report of some run, from the first on. None:
        the first is none, and nothing was taken."""
        return None

    def deliver_bulk(self, batch: Sequence[Recorded], now: int) -> Sequence[bytes] | None:
        """Events as `deliver` is given them: as many as are each one frame and no more, from the
        first on, as those frames. None: the first is none, and nothing was done."""
        return None
