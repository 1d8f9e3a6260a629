"""What controllers have confirmed of their runs: a number that only rises, kept with the run."""

from __future__ import annotations

from functools import partial

import attrs

from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import Done
from fleetgate.core.ledger import Ledger
from fleetgate.core.passages import ACKNOWLEDGED
from fleetgate.core.run import Run
from fleetgate.core.sequence import acknowledge
from fleetgate.core.slots import Slot


class Acknowledging:
    """Takes acknowledgements. A run shows one only from its commit on (I2)."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def acknowledge(self, id: RunId, through: int) -> None:
        """The controller has the run's events up to `through`, clamped to the last. Of many
        acknowledgements in a row the journal gets the latest.

        Raises: `RunNotFound`, `Unavailable`.
        """
        slot = self._ledger.slots.get(id)
        if slot is None:
            _, after = await self._ledger.change_ended(id, partial(_acknowledged, through))
            self._ledger.passages.mark(id, ACKNOWLEDGED, after.acknowledged)
            return
        slot.confirmed = acknowledge(slot.confirmed, slot.visible_seq, through)
        self._ledger.passages.mark(id, ACKNOWLEDGED, slot.confirmed)
        self._put_latest(slot)

    def _put_latest(self, slot: Slot) -> None:
        if slot.acknowledging or slot.confirmed <= slot.run.acknowledged:
            return
        slot.acknowledging = True

        def done(_: Exception | None) -> None:
            slot.acknowledging = False
            self._put_latest(slot)

        self._put(slot, slot.confirmed, done)

    async def acknowledge_durably(self, id: RunId, through: int) -> tuple[Run, Run]:
        """As `acknowledge`, and durable when this returns; the run before and behind it.

        Raises: `RunNotFound`, `Unavailable`. Cancelled, it may or may not become durable.
        """
        before, after = await self._acknowledge_durably(id, through)
        self._ledger.passages.mark(id, ACKNOWLEDGED, after.acknowledged)
        return before, after

    async def _acknowledge_durably(self, id: RunId, through: int) -> tuple[Run, Run]:
        slot = self._ledger.slots.get(id)
        if slot is None:
            return await self._ledger.change_ended(id, partial(_acknowledged, through))
        before = slot.seen()
        with self._ledger.using(slot):
            await self._ledger.commit(partial(self._put, slot, through))
        return before, slot.seen()

    def _put(self, slot: Slot, through: int, done: Done) -> None:
        reached = acknowledge(slot.run.acknowledged, slot.visible_seq, through)
        if reached == slot.run.acknowledged and not slot.puts:
            done(None)
            return
        # Without a change too: the row that holds the number may still be in line.
        slot.run = attrs.evolve(slot.run, acknowledged=reached)
        self._ledger.put(slot, done)


def _acknowledged(through: int, run: Run) -> Run:
    reached = acknowledge(run.acknowledged, run.last_seq, through)
    return attrs.evolve(run, acknowledged=reached)
