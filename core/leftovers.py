"""Runs that the hub has ended by itself while their worker is still at them.

The run is over for everybody else. Its worker is told to stop; what it still says of the run is
recorded nowhere (I5), and confirmed all the same once the end is durable, so that worker and
adapter are done with it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fleetgate.core import commands as c
from fleetgate.core.events import Event, RunFinished
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.roster import Leftover, Roster, Worker
from fleetgate.core.slots import Slot
from fleetgate.core.timers import Clock

MOST: Final = 1000
"""Leftovers of one worker's link. Beyond it the oldest is forgotten: its worker may go on for the
life of the link, and what it says of the run is a foreign run's. A worker that has as many runs
that it does not end has other troubles."""


class Leftovers:
    """Of all workers. They end with their worker's link: the next one is not told of the runs."""

    def __init__(self, roster: Roster, clock: Clock) -> None:
        self._roster = roster
        self._clock = clock

    def ending(self, slot: Slot, reason: str) -> None:
        """The hub is about to end an open run."""
        worker = self._roster.worker_of(slot)
        if worker is None or worker.port is None:
            return
        run = slot.run
        cancel = c.CancelRun(run.id, reason=reason)
        number = OrderNumber(run.orders + 1)
        worker.leftovers[run.id] = Leftover(c.Order(run.id, number, cancel, 0, self._clock()))
        if len(worker.leftovers) > MOST:
            del worker.leftovers[next(iter(worker.leftovers))]

    def ended(self, slot: Slot) -> None:
        """That end is durable."""
        worker = self._roster.worker_of(slot)
        left = None if worker is None else worker.leftovers.get(slot.run.id)
        if worker is None or left is None:
            return
        left.durable = True
        self._confirm(worker, slot.run.id, left)
        self.tell(worker)

    def tell(self, worker: Worker) -> None:
        """Have the worker stop what it was not told of, if it takes orders by now."""
        if worker.port is None or not self._roster.takes_orders(worker):
            return
        for left in list(worker.leftovers.values()):
            if left.durable and not left.told:
                left.told = True
                worker.port.perform(left.order)

    def heard(
        self,
        worker: Worker,
        run: RunId,
        heard: Sequence[tuple[Sequence[Event], int | None, object]],
    ) -> bool:
        """The worker reports something of a run; whether that is a leftover of its."""
        left = worker.leftovers.get(run)
        if left is None:
            return False
        for events, native_seq, _ in heard:
            left.native_seq = max(left.native_seq, native_seq or 0)
            left.over = left.over or any(isinstance(each, RunFinished) for each in events)
        if left.durable:
            self._confirm(worker, run, left)
        return True

    def _confirm(self, worker: Worker, run: RunId, left: Leftover) -> None:
        if left.over:
            del worker.leftovers[run]
        if left.native_seq and worker.port is not None:
            worker.port.committed(run, left.native_seq)
