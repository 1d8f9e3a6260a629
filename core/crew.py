"""Workers coming and going: admission and fencing, and what becomes of runs whose worker is
away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fleetgate.core import events as e
from fleetgate.core.answers import Admission
from fleetgate.core.dispatcher import Dispatcher
from fleetgate.core.endings import Endings
from fleetgate.core.errors import ResourceExhausted, Unavailable, WorkerNotFound
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.ids import Epoch, WorkerId
from fleetgate.core.journal.api import Done, PutNote, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.leftovers import Leftovers
from fleetgate.core.roster import Port, Roster, Worker
from fleetgate.core.slots import Slot
from fleetgate.core.timers import Timers
from fleetgate.core.watchers import Happening, Watchers
from fleetgate.core.worker import Liveness, WorkerInfo


class Crew:
    """Who is here. `left` is told of each worker whose link is gone."""

    def __init__(
        self,
        ledger: Ledger,
        timers: Timers,
        roster: Roster,
        dispatcher: Dispatcher,
        leftovers: Leftovers,
        left: Callable[[Worker], None],
        watchers: Watchers,
    ) -> None:
        self._ledger = ledger
        self._timers = timers
        self._roster = roster
        self._dispatcher = dispatcher
        self._leftovers = leftovers
        self._left = left
        self._watchers = watchers
        self.endings = Endings(ledger, roster)
        self.changed: Callable[[Worker], None] = lambda _: None
        """Told of each worker whose liveness is another one now; never blocks or raises."""

    async def admit(self, info: WorkerInfo, port: Port) -> Admission:
        """Let a link speak for a worker, under a new durable epoch; fence the older link.

        Raises: `InstanceConflict`, `Unavailable`, `ResourceExhausted`. Cancelled, the worker
        counts as away.
        """
        self._roster.check_instance(info)
        self._ledger.check()
        self._check_room(info)
        worker = self._replace(info, port)
        admitted = False
        try:
            await self._ledger.commit(partial(self._enqueue_admission, worker))
            admitted = True
        finally:
            if not admitted and self._roster.is_current(worker):
                self._dispatcher.take_back(worker)
                self._leave(worker)
        self._check_current(worker)
        self._ledger.passages.came(info.id, worker.epoch, info.pool, "")
        return Admission(worker.epoch, self._dispatcher.tell_held(worker))

    def _check_room(self, info: WorkerInfo) -> None:
        limit = self._ledger.limits.workers
        if info.id not in self._roster.workers and len(self._roster.workers) >= limit:
            raise ResourceExhausted(f"{limit} workers are known, which is the limit")

    def _replace(self, info: WorkerInfo, port: Port) -> Worker:
        old = self._roster.workers.get(info.id)
        worker = Worker(info, Epoch(old.epoch + 1 if old else 1), self._ledger.clock())
        if old is not None:
            worker.runs, worker.owed = old.runs, old.owed
            worker.draining, worker.drained = old.draining, old.drained
            old.stop_waiting()
            self._told_gone(old, "replaced")
            if old.port is not None:
                gone, old.port = old.port, None
                gone.fenced(f"another link of worker {info.id} took over")
                self._left(old)
        worker.port = port
        worker.liveness = Liveness.CONNECTING
        self._roster.arrive(worker)
        return worker

    def _enqueue_admission(self, worker: Worker, done: Done) -> None:
        self._check_current(worker)
        held = self._dispatcher.hold(worker)
        self._ledger.journal.enqueue((_note(worker), *held), done, may_fail=True)

    def _check_current(self, worker: Worker) -> None:
        if not self._roster.is_current(worker):
            raise Unavailable(f"a newer link of worker {worker.info.id} took over meanwhile")

    def ready(self, id: WorkerId, epoch: Epoch, free: int | None) -> None:
        """The worker has compared what it holds; it takes `free` more runs.

        Raises: `Fenced`.
        """
        worker = self._roster.current(id, epoch)
        if worker.liveness is Liveness.CONNECTING:
            self._become(worker, Liveness.READY)
            self._watchers.tell(Happening.CONNECTED, worker.info)
        worker.free = free
        self.endings.tell(worker)
        self._dispatcher.resume(worker)
        self._leftovers.tell(worker)

    def report_capacity(self, id: WorkerId, epoch: Epoch, free: int | None) -> None:
        """The worker takes `free` more runs.

        Raises: `Fenced`.
        """
        worker = self._roster.current(id, epoch)
        worker.free = free
        self._dispatcher.dispatch(worker.info.pool)

    def withdraw(self, id: WorkerId, epoch: Epoch, reason: str, gone: bool) -> None:
        """The worker's link is lost, or it leaves. `gone`: its runs are lost with it. An older
        epoch's withdrawal changes nothing."""
        worker = self._roster.workers.get(id)
        if worker is None or worker.epoch != epoch or worker.port is None:
            return
        self._leave(worker, reason)
        if gone:
            self._lose_runs(worker, f"its worker left: {reason}")

    def _leave(self, worker: Worker, reason: str = "") -> None:
        self._told_gone(worker, reason)
        worker.port = None
        self._roster.depart(worker)
        self._become(worker, Liveness.AWAY)
        self._left(worker)
        self.await_return(worker)

    def _told_gone(self, worker: Worker, reason: str) -> None:
        if worker.port is not None and worker.liveness is not Liveness.CONNECTING:
            self._watchers.tell(Happening.DISCONNECTED, worker.info, reason)

    def await_return(self, worker: Worker) -> None:
        """Give the worker its grace; then its runs are lost."""
        grace = worker.grace if worker.grace is not None else self._ledger.limits.lost_after
        over = partial(self._grace_over, worker)
        worker.waiting = self._timers.at(self._ledger.clock() + grace, over)

    def _grace_over(self, worker: Worker) -> None:
        self._watchers.tell(Happening.LOST, worker.info)
        self._lose_runs(worker, "its worker did not return; side effects are uncertain")
        gone = self._roster.sessions.forget_worker(worker.info.id)
        if gone:
            self._ledger.write([PutNote("session", id, None) for id in gone])
        self._dispatcher.dispatch(worker.info.pool)

    def _lose_runs(self, worker: Worker, why: str) -> None:
        lost = Outcome(RunState.LOST, Reason.LOST, f"worker {worker.info.id}: {why}")
        for slot in list(worker.runs.values()):
            self._ledger.record(slot, (e.RunFinished(lost),))

    def _become(self, worker: Worker, liveness: Liveness) -> None:
        worker.liveness = liveness
        worker.since = self._ledger.clock()
        self.changed(worker)

    async def drain(self, id: WorkerId, on: bool) -> None:
        """Give the worker no more runs, or runs again; durably, and whether it is here or not.

        Raises: `WorkerNotFound`, `Unavailable`. Refused, it is as it was; late, it may yet become
        so. Cancelled, it may or may not.
        """
        self.find(id)
        await self._ledger.commit(partial(self._enqueue_drain, id, on))

    def _enqueue_drain(self, id: WorkerId, on: bool, done: Done) -> None:
        worker = self.find(id)  # by now perhaps a newer link of it, under a newer epoch
        worker.draining = on

        def drained(error: Exception | None) -> None:
            worker = self.find(id)
            if error is None:
                worker.drained = on
                self._dispatcher.dispatch(worker.info.pool)
            else:
                # Whatever notes of it stood behind this one were given up with it.
                worker.draining = worker.drained
            done(error)

        self._ledger.journal.enqueue((_note(worker),), drained, may_fail=True)

    def find(self, id: WorkerId) -> Worker:
        """A worker that is or was connected.

        Raises: `WorkerNotFound`.
        """
        worker = self._roster.workers.get(id)
        if worker is None:
            raise WorkerNotFound(f"no worker has the id {id}; `gateway workers` lists them")
        return worker

    def ended(self, slot: Slot) -> None:
        """The run's end is durable: its worker, or the line it stood in, is done with it."""
        worker = self._roster.worker_of(slot)
        if worker is not None:
            worker.runs.pop(slot.run.id, None)
        self._dispatcher.ended(slot)

    def restore(self, slot: Slot) -> None:
        """Take up a run from the journal after a restart."""
        worker = self._roster.worker_of(slot)
        if worker is not None:
            worker.runs[slot.run.id] = slot
            self._dispatcher.pace.went(slot.run)
        elif not slot.run.awaits_script:
            self._dispatcher.line_up(slot)


def _note(worker: Worker) -> Write:
    return PutNote("worker", worker.info.id, worker.note())
