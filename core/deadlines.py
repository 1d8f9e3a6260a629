"""When a run's time is over: in the queue, and at work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ledger import Ledger
from fleetgate.core.leftovers import Leftovers
from fleetgate.core.roster import Worker
from fleetgate.core.slots import Slot
from fleetgate.core.timers import Timers


class Deadlines:
    """The two deadlines of a run: `expires` (or else the hub's own limit) while it waits,
    `timeout` once it runs.

    `cancel` gives the run's worker a cancel order. A worker that keeps the timeout itself is
    left to do so; every run is ended here if it is not over some time after its timeout, and
    then its worker is told to stop.
    """

    def __init__(
        self,
        ledger: Ledger,
        timers: Timers,
        worker_of: Callable[[Slot], Worker | None],
        leftovers: Leftovers,
        cancel: Callable[[Slot], None],
    ) -> None:
        self._ledger = ledger
        self._timers = timers
        self._worker_of = worker_of
        self._leftovers = leftovers
        self._cancel = cancel

    def opened(self, slot: Slot) -> None:
        """The run is accepted, or taken up again."""
        if slot.run.worker is None:
            latest = slot.run.created + self._ledger.limits.lost_after
            expires = slot.run.work.expires
            due = latest if expires is None else min(expires, latest)
            slot.timers.append(self._timers.at(due, partial(self._expire, slot)))
        self.started(slot)

    def started(self, slot: Slot) -> None:
        """The run may have begun to work; calling it again changes nothing."""
        timeout = slot.run.work.timeout
        if timeout is None or not slot.run.started or slot.timing:
            return
        slot.timing = True
        due = slot.run.started + timeout
        worker = self._worker_of(slot)
        if worker is None or not worker.info.enforces_timeout:
            slot.timers.append(self._timers.at(due, partial(self._time_out, slot)))
        late = due + self._ledger.limits.end_margin
        slot.timers.append(self._timers.at(late, partial(self._give_up, slot)))

    def closed(self, slot: Slot) -> None:
        """The run has ended."""
        for timer in slot.timers:
            timer.cancel()

    def _expire(self, slot: Slot) -> None:
        if slot.run.worker is None:
            self._end(slot, Reason.EXPIRED, "no worker took it before it expired")

    def _time_out(self, slot: Slot) -> None:
        slot.timed_out = True
        self._cancel(slot)

    def _give_up(self, slot: Slot) -> None:
        if slot.run.state.terminal:  # its end is in line
            return
        text = "its timeout passed and its worker did not end it"
        self._leftovers.ending(slot, text)
        self._end(slot, Reason.TIMED_OUT, text)

    def _end(self, slot: Slot, reason: Reason, text: str) -> None:
        over = Outcome(RunState.FAILED, reason, text)
        then = partial(self._leftovers.ended, slot)
        self._ledger.record(slot, (RunFinished(over),), then=then)
