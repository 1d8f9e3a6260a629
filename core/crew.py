"""Workers at work: admission and fencing, giving out runs and orders, and what becomes of
runs whose worker is away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Admission, Held
from fleetgate.core.errors import Refusal, Unavailable
from fleetgate.core.events import Event, Outcome, Reason, RunState, Source
from fleetgate.core.ids import Epoch, OrderNumber, RunId, WorkerId
from fleetgate.core.journal.api import MarkOrder, PutNote, Write
from fleetgate.core.ledger import Ledger, Part
from fleetgate.core.roster import Port, Roster, Worker
from fleetgate.core.sessions import note_of
from fleetgate.core.slots import Slot
from fleetgate.core.timers import Timers
from fleetgate.core.worker import Liveness, WorkerInfo

Heard: TypeAlias = tuple[Sequence[Event], int | None]
"""What a worker reported at once, and its own number of it."""


class Crew:
    """The roster, and what is done with it."""

    def __init__(self, ledger: Ledger, timers: Timers) -> None:
        self.roster = Roster()
        self._ledger = ledger
        self._timers = timers

    # --- coming and going

    async def admit(self, info: WorkerInfo, port: Port) -> Admission:
        """Let a link speak for a worker, under a new durable epoch; fence the older link.

        Raises: `InstanceConflict`, `Unavailable`. Cancelled, the worker counts as away.
        """
        self.roster.check_instance(info)
        self._ledger.check()
        worker = self._replace(info, port)
        admitted = False
        try:
            await self._ledger.commit(partial(self._enqueue_admission, worker))
            admitted = True
        finally:
            if not admitted and self.roster.workers.get(info.id) is worker:
                self._leave(worker)
        if self.roster.workers.get(info.id) is not worker:
            raise Unavailable(f"worker {info.id} was taken over by a newer link meanwhile")
        held = tuple(map(self._held, list(worker.runs.values())))
        worker.held = {(o.run, o.number) for one in held for o in one.orders}
        worker.held_back = []
        return Admission(worker.epoch, held)

    def _replace(self, info: WorkerInfo, port: Port) -> Worker:
        now = self._ledger.clock()
        old = self.roster.workers.get(info.id)
        worker = Worker(info, Epoch(old.epoch + 1 if old else 1), now)
        if old is not None:
            worker.runs = old.runs
            if old.port is not None:
                gone, old.port = old.port, None
                gone.fenced(f"another link of worker {info.id} took over")
        worker.port = port
        worker.liveness = Liveness.CONNECTING
        self.roster.workers[info.id] = worker
        return worker

    def _enqueue_admission(self, worker: Worker, done: Callable[[Exception | None], None]) -> None:
        writes: list[Write] = [PutNote("worker", worker.info.id, worker.note())]
        if not worker.info.numbered_input:
            for slot in list(worker.runs.values()):
                writes += self._mark_inputs(slot)
        self._ledger.journal.enqueue(writes, done)

    def _mark_inputs(self, slot: Slot) -> list[Write]:
        """An input is handed at most once to a worker that cannot tell a repeat. One that was
        handed and never confirmed may have arrived or not: that is said, not tried again."""
        writes: list[Write] = []
        for open_ in list(slot.orders.values()):
            if not open_.order.input:
                continue
            number = open_.order.number
            if open_.sent:
                self._settle(slot, number)
                text = f"input {open_.order.input} may or may not have reached the worker"
                self._ledger.record(slot, (e.Diagnosed(text, "input_uncertain"),))
            else:
                slot.orders[number] = attrs.evolve(open_, sent=True)
                writes.append(MarkOrder(slot.run.id, number, settled=False))
        return writes

    def _held(self, slot: Slot) -> Held:
        seen = slot.seen()
        orders = tuple(o.order for o in slot.orders.values())
        return Held(attrs.evolve(seen, spec=seen.work), orders)

    def ready(self, id: WorkerId, epoch: Epoch, free: int | None) -> None:
        """The worker has compared what it holds; it takes `free` more runs.

        Raises: `Fenced`.
        """
        worker = self.roster.current(id, epoch)
        if worker.liveness is Liveness.CONNECTING:
            self._become(worker, Liveness.READY)
        worker.free = free
        held_back, worker.held_back = worker.held_back, []
        for order in held_back:
            self._perform(worker, order)
        self.dispatch(worker.info.pool)

    def report_capacity(self, id: WorkerId, epoch: Epoch, free: int | None) -> None:
        """The worker takes `free` more runs.

        Raises: `Fenced`.
        """
        worker = self.roster.current(id, epoch)
        worker.free = free
        self.dispatch(worker.info.pool)

    def withdraw(self, id: WorkerId, epoch: Epoch, reason: str, gone: bool) -> None:
        """The worker's link is lost, or it leaves. `gone`: its runs are lost with it. An older
        epoch's withdrawal changes nothing."""
        worker = self.roster.workers.get(id)
        if worker is None or worker.epoch != epoch or worker.port is None:
            return
        self._leave(worker)
        if gone:
            self.lose_runs(worker, f"its worker left: {reason}")

    def _leave(self, worker: Worker) -> None:
        worker.port = None
        self._become(worker, Liveness.AWAY)
        self.await_return(worker)

    def await_return(self, worker: Worker) -> None:
        """Give the worker its grace; then its runs are lost."""
        grace = worker.grace if worker.grace is not None else self._ledger.limits.lost_after
        self._timers.at(self._ledger.clock() + grace, partial(self._grace_over, worker))

    def _grace_over(self, worker: Worker) -> None:
        if worker.port is None and self.roster.workers.get(worker.info.id) is worker:
            self.lose_runs(worker, "its worker did not return; side effects are uncertain")

    def lose_runs(self, worker: Worker, why: str) -> None:
        """End every run of the worker as lost."""
        lost = Outcome(RunState.LOST, Reason.LOST, f"worker {worker.info.id}: {why}")
        for slot in list(worker.runs.values()):
            self._ledger.record(slot, (e.RunFinished(lost),))

    def _become(self, worker: Worker, liveness: Liveness) -> None:
        worker.liveness = liveness
        worker.since = self._ledger.clock()

    def drain(self, worker: Worker, on: bool) -> None:
        """Give the worker no more runs, or runs again."""
        if on and worker.liveness is Liveness.READY:
            self._become(worker, Liveness.DRAINING)
        elif not on and worker.liveness is Liveness.DRAINING:
            self._become(worker, Liveness.READY)
            self.dispatch(worker.info.pool)

    # --- giving out work

    def line_up(self, slot: Slot) -> None:
        """A run waits for a worker of its pool."""
        self.roster.line(slot.run.pool).append(slot)

    def dispatch(self, pool: str) -> None:
        """Give waiting runs to workers that take them, oldest first. A run whose session
        lives at a worker that is busy or away does not hold up the others."""
        line = self.roster.line(pool)
        passed: list[Slot] = []
        while line:
            slot = line.popleft()
            if slot.run.state.terminal or slot.run.worker is not None:
                continue
            worker = self.roster.choose(slot)
            if worker is not None:
                self._assign(slot, worker)
                continue
            passed.append(slot)
            if not self.roster.has_room(pool):
                break
        line.extendleft(reversed(passed))

    def _assign(self, slot: Slot, worker: Worker) -> None:
        worker.reserved += 1
        worker.runs[slot.run.id] = slot
        assigned = e.RunAssigned(worker.info.id, worker.epoch)
        self._ledger.record(slot, (assigned,), then=partial(self._assigned, slot, worker))

    def _assigned(self, slot: Slot, worker: Worker) -> None:
        worker.reserved -= 1
        if not self._current(worker) or worker.liveness is Liveness.CONNECTING:
            return  # its next admission holds the run
        run = slot.run
        if run.state.terminal:
            return
        if worker.free is not None:
            worker.free -= 1
        first = c.StartRun(run.id, run.work, run.origin)
        self._perform(worker, c.Order(run.id, OrderNumber(0), first, created=run.created))
        for open_ in list(slot.orders.values()):
            self.hand(slot, open_.order)

    def _current(self, worker: Worker) -> bool:
        return worker.port is not None and self.roster.workers.get(worker.info.id) is worker

    def _perform(self, worker: Worker, order: c.Order) -> None:
        if worker.port is not None:
            worker.port.perform(order)

    def hands_at_once(self, slot: Slot) -> bool:
        """Whether an order of this run would be handed over now, and could not be again."""
        worker = self.worker_of(slot)
        return (
            worker is not None
            and self._current(worker)
            and worker.liveness is not Liveness.CONNECTING
            and not worker.info.numbered_input
        )

    def hand(self, slot: Slot, order: c.Order) -> None:
        """Hand a durable order to the run's worker, now or when it is ready. An order for a
        worker that is away waits for its admission."""
        worker = self.worker_of(slot)
        open_ = slot.orders.get(order.number)
        if worker is None or open_ is None or not self._current(worker):
            return
        if worker.info.numbered_input or open_.sent:
            self._give(worker, order)
            return
        slot.orders[order.number] = attrs.evolve(open_, sent=True)
        mark = MarkOrder(slot.run.id, order.number, settled=False)
        self._ledger.journal.enqueue((mark,), partial(self._marked, worker, order))

    def _marked(self, worker: Worker, order: c.Order, error: Exception | None) -> None:
        if error is None and self._current(worker):
            self._give(worker, order)

    def _give(self, worker: Worker, order: c.Order) -> None:
        if worker.liveness is not Liveness.CONNECTING:
            self._perform(worker, order)
        elif (order.run, order.number) not in worker.held:
            worker.held_back.append(order)

    def worker_of(self, slot: Slot) -> Worker | None:
        """The worker that the run was given to, if it is known."""
        id = slot.run.worker
        return None if id is None else self.roster.workers.get(id)

    # --- hearing from it

    def record(self, id: WorkerId, epoch: Epoch, run: RunId, heard: Sequence[Heard]) -> bool:
        """Take a worker's events of a run, each once (I4), in one commit. Answers whether the run
        is this worker's.

        Raises: `Fenced`.
        """
        worker = self.roster.current(id, epoch)
        slot = worker.runs.get(run)
        if slot is None:
            return False
        last = slot.native_seq
        parts: list[Part] = []
        also: list[Write] = []
        for events, native_seq in heard:
            if native_seq is not None:
                if native_seq <= last:
                    self._ledger.touch(slot)
                    continue
                last = native_seq
            events = [_on_time(slot, event) for event in events]
            for event in events:
                also += self._consequences(slot, worker, event)
            parts.append((events, Source(epoch, native_seq)))
        self._ledger.record_parts(slot, parts, also=also)
        return True

    def _consequences(self, slot: Slot, worker: Worker, event: Event) -> list[Write]:
        match event:
            case e.InputAccepted(through=through):
                confirmed = [
                    o.order.number for o in slot.orders.values() if 0 < o.order.input <= through
                ]
                return [self._settled(slot, number) for number in confirmed]
            case e.SessionOpened(native_session=native):
                return self._open_session(slot, worker, native)
            case _:
                return []

    def _open_session(self, slot: Slot, worker: Worker, native: str) -> list[Write]:
        sessions = self.roster.sessions
        session = sessions.open(slot.run, native, worker.info.id)
        writes: list[Write] = [PutNote("session", session.id, note_of(session))]
        oldest = sessions.forget_oldest()
        if oldest is not None:
            writes.append(PutNote("session", oldest, None))
        return writes

    def settle(
        self, id: WorkerId, epoch: Epoch, run: RunId, number: OrderNumber, error: Refusal | None
    ) -> None:
        """The worker confirmed or refused an order. A refusal becomes an event.

        Raises: `Fenced`.
        """
        slot = self.roster.current(id, epoch).runs.get(run)
        if slot is None or number not in slot.orders:
            return
        self._settle(slot, number)
        if error is not None:
            said = e.Diagnosed(error.message, error.code)
            self._ledger.record(slot, (said,))

    def _settle(self, slot: Slot, number: OrderNumber) -> None:
        self._ledger.write((self._settled(slot, number),))

    def _settled(self, slot: Slot, number: OrderNumber) -> MarkOrder:
        slot.orders.pop(number, None)
        return MarkOrder(slot.run.id, number, settled=True)

    def ended(self, slot: Slot) -> None:
        """The run's end is durable: its worker is done with it."""
        worker = self.worker_of(slot)
        if worker is not None:
            worker.runs.pop(slot.run.id, None)

    def restore(self, slot: Slot) -> None:
        """Take up a run from the journal after a restart."""
        worker = self.worker_of(slot)
        if worker is not None:
            worker.runs[slot.run.id] = slot
        elif not slot.run.awaits_script:
            self.line_up(slot)


def _on_time(slot: Slot, event: Event) -> Event:
    """A run that was cancelled because its time was over has timed out, whatever its worker
    calls it."""
    if not slot.timed_out or not isinstance(event, e.RunFinished):
        return event
    outcome = event.outcome
    if outcome.reason is not Reason.CANCELED:
        return event
    over = attrs.evolve(
        outcome, state=RunState.FAILED, reason=Reason.TIMED_OUT, message="its timeout passed"
    )
    return e.RunFinished(over)
