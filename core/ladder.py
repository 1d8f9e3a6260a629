"""How far a run's events have got: received, stored, sent, acknowledged."""

from __future__ import annotations

import attrs

from fleetgate.core.commits import readable
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.events import Recorded
from fleetgate.core.ids import Seq
from fleetgate.core.ledger import Ledger
from fleetgate.core.run import Run


@attrs.frozen(slots=True)
class Standing:
    """A run's ladder, each rung the number of its last event there.

    `received`: numbered, and in line for the journal; `stored`: durable. `sent`: handed to the
    link that has most of those which follow it now; None: nobody does. `acknowledged` by its
    controller. `native_received` and `native_stored` are the worker's own numbers of the first
    two; what is stored is confirmed to the worker (I3).
    """

    received: Seq
    stored: Seq
    sent: int | None
    acknowledged: Seq
    native_received: int
    native_stored: int


class Ladders:
    """Says how runs stand. Asking changes nothing."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.passages = ledger.passages
        """When events passed each rung, as far as it is remembered."""

    def standing(self, run: Run) -> Standing:
        """The ladder of a run, as it is read from the journal or the hub."""
        slot = self._ledger.slots.get(run.id)
        if slot is None:
            last, native = run.last_seq, run.native_seq
            return Standing(last, last, None, run.acknowledged, native, native)
        return Standing(
            received=slot.last_seq,
            stored=slot.visible_seq,
            sent=slot.reached if slot.followers else None,
            acknowledged=slot.visible.acknowledged,
            native_received=slot.native_seq,
            native_stored=slot.visible_native,
        )

    async def event(self, run: Run, seq: int) -> Recorded | None:
        """One event of a run; None: it is received and not stored yet.

        Raises: `InvalidArgument`: there is none of that number; `Unavailable`.
        """
        standing = self.standing(run)
        if not 1 <= seq <= standing.received:
            has = f"events 1 to {standing.received}" if standing.received else "no event yet"
            raise InvalidArgument(f"seq: run {run.id} has {has}; {seq} came")
        with readable():
            found = await self._ledger.journal.read(run.id, Seq(seq - 1), items=1, size=1)
        return next((each for each in found if each.seq == seq), None)
