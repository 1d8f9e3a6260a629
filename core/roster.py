"""The workers: who is connected under which epoch, how many more runs each takes, and
which one takes a run that waits. Bookkeeping only; the hub acts on what it says."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, runtime_checkable

import attrs

from fleetgate.core.commands import Order, ProbeWorkers, ReadUsage
from fleetgate.core.errors import Fenced, InstanceConflict, SessionNotFound
from fleetgate.core.ids import Epoch, OrderNumber, RunId, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.sessions import Sessions
from fleetgate.core.slots import Slot
from fleetgate.core.timers import Timer
from fleetgate.core.worker import Liveness, WorkerInfo, WorkerStatus


class Port(Protocol):
    """How the hub reaches one worker over one link. No method blocks or raises."""

    def perform(self, order: Order) -> None:
        """Give the worker an order."""

    def ask(self, question_id: int, question: ProbeWorkers | ReadUsage) -> None:
        """Ask the worker; `Hub.respond` takes the answer."""

    def committed(self, run: RunId, native_seq: int) -> None:
        """What was recorded of `run` up to the worker's number `native_seq` is durable."""

    def fenced(self, reason: str) -> None:
        """A newer link of this worker has taken over."""


@runtime_checkable
class SessionKeeper(Protocol):
    """What the port of a worker has beside `Port`, if the worker keeps sessions."""

    def end_session(self, session: str) -> None:
        """A controller has ended the session; the worker's own name for it."""


@attrs.define(slots=True, eq=False)
class Leftover:
    """A run that the hub has ended while its worker was at it. See `fleetgate.core.leftovers`.

    `order` makes the worker stop; `durable`: so is the end; `told`: the order was handed over.
    `native_seq` is the worker's highest number heard since, `over`: it has ended the run, too.
    """

    order: Order
    durable: bool = False
    told: bool = False
    native_seq: int = 0
    over: bool = False


class Worker:
    """One worker, connected or awaited."""

    __slots__ = (
        "drained",
        "draining",
        "epoch",
        "free",
        "grace",
        "info",
        "leftovers",
        "liveness",
        "owed",
        "port",
        "reserved",
        "runs",
        "since",
        "telling",
        "waiting",
    )

    def __init__(self, info: WorkerInfo, epoch: Epoch, since: int) -> None:
        self.info = info
        self.epoch = epoch
        self.liveness = Liveness.AWAY
        self.port: Port | None = None
        self.draining = False
        """Whether it is given no more runs; `drained`: what of that is durable. All notes of a
        worker are given up together, so the one can always go back to the other."""
        self.drained = False
        self.free: int | None = 0
        self.reserved = 0
        """Runs assigned whose order is not handed over yet: its `RunAssigned` is in line."""
        self.grace: int | None = info.grace
        self.runs: dict[RunId, Slot] = {}
        self.leftovers: dict[RunId, Leftover] = {}
        self.owed: dict[str, None] = {}
        """Sessions that have ended and that it is to be told of. See `fleetgate.core.endings`."""
        self.telling: list[tuple[Slot, OrderNumber]] = []
        """Inputs that are being marked as sent with its admission, which is in line."""
        self.since = since
        self.waiting: Timer | None = None
        """The end of its grace, while it is away."""

    def stop_waiting(self) -> None:
        """It is back, or another link of it is."""
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None

    @property
    def takes_runs(self) -> bool:
        """Whether it may be given one more run now."""
        if self.liveness is not Liveness.READY or self.draining:
            return False
        return self.free is None or self.free > self.reserved

    def status(self) -> WorkerStatus:
        """How it stands."""
        drained = self.draining and self.liveness is Liveness.READY
        liveness = Liveness.DRAINING if drained else self.liveness
        return WorkerStatus(self.info, liveness, self.epoch, self.free, len(self.runs), self.since)

    def note(self) -> bytes:
        """What must survive a restart of the gateway."""
        kept = {
            "epoch": self.epoch,
            "grace": self.grace,
            "pool": self.info.pool,
            "draining": self.draining,
        }
        return json.dumps(kept).encode()


def remembered(id: WorkerId, note: bytes, now: int) -> Worker:
    """A worker as known from its note: away until it comes back."""
    kept = json.loads(note)
    info = WorkerInfo(id, kept["pool"], frozenset(), grace=kept["grace"])
    worker = Worker(info, Epoch(kept["epoch"]), now)
    worker.draining = worker.drained = kept["draining"]
    return worker


class Roster:
    """All workers by id, those that are connected by pool, and for each pool the runs that
    wait for one."""

    def __init__(self) -> None:
        self.workers: dict[WorkerId, Worker] = {}
        self.sessions = Sessions()
        self._present: dict[str, dict[WorkerId, Worker]] = {}
        self._waiting: dict[str, dict[RunId, Slot]] = {}

    def arrive(self, worker: Worker) -> None:
        """A worker is connected, in place of any older link of it."""
        self.workers[worker.info.id] = worker
        self._present.setdefault(worker.info.pool, {})[worker.info.id] = worker

    def depart(self, worker: Worker) -> None:
        """The worker's link is gone."""
        self._present.get(worker.info.pool, {}).pop(worker.info.id, None)

    def of(self, pool: str) -> Collection[Worker]:
        """The connected workers of a southbound entry."""
        return self._present.get(pool, {}).values()

    def worker_of(self, slot: Slot) -> Worker | None:
        """The worker that the run was given to, if it is known."""
        id = slot.run.worker
        return None if id is None else self.workers.get(id)

    def is_current(self, worker: Worker) -> bool:
        """Whether it is connected and no newer link of it is."""
        return worker.port is not None and self.workers.get(worker.info.id) is worker

    def takes_orders(self, worker: Worker) -> bool:
        """Whether this link of it may be handed orders now."""
        return self.is_current(worker) and worker.liveness is not Liveness.CONNECTING

    def current(self, id: WorkerId, epoch: Epoch) -> Worker:
        """The worker, if `epoch` is its newest.

        Raises: `Fenced`.
        """
        worker = self.workers.get(id)
        if worker is None or worker.epoch != epoch or worker.port is None:
            raise Fenced(f"worker {id}: epoch {epoch} is not the current one; connect anew")
        return worker

    def check_instance(self, info: WorkerInfo) -> None:
        """Refuse a second live instance of an exclusive worker.

        Raises: `InstanceConflict`.
        """
        worker = self.workers.get(info.id)
        if worker is None or worker.port is None or not info.exclusive:
            return
        if worker.info.instance != info.instance:
            raise InstanceConflict(
                f"another instance of worker {info.id} is connected; stop it first"
            )

    def line(self, pool: str) -> dict[RunId, Slot]:
        """The runs that wait in a pool, oldest first."""
        return self._waiting.setdefault(pool, {})

    def pools_waiting(self, link: str) -> list[str]:
        """The pools in which runs wait, by when the oldest one there of `link` was accepted."""

        def oldest(pool: str) -> int:
            waiting = self._waiting[pool].values()
            return min((s.run.created for s in waiting if s.run.origin.link == link), default=0)

        return sorted((pool for pool, line in self._waiting.items() if line), key=oldest)

    def has_room(self, pool: str) -> bool:
        """Whether any worker of the pool takes one more run."""
        return any(worker.takes_runs for worker in self.of(pool))

    def choose(self, slot: Slot) -> Worker | None:
        """The worker that takes this run now: the one that its session lives at, else the
        one with the fewest runs. None: it waits."""
        run = slot.run
        home = self._home(run)
        if home is not None:
            return home if home.takes_runs else None
        best: Worker | None = None
        for worker in self.of(run.pool):
            if worker.takes_runs and worker.info.may_take(run.work.labels):
                if not worker.runs:
                    return worker  # none has fewer: of an idle fleet the others are not looked at
                if best is None or len(worker.runs) < len(best.runs):
                    best = worker
        return best

    def candidates(self, run: Run) -> list[Worker]:
        """The workers that the run may go to: the one that its session lives at, whether it is
        here or not, else those that are connected and accept its labels."""
        home = self._home(run)
        if home is not None:
            return [home]
        return [w for w in self.of(run.pool) if w.info.may_take(run.work.labels)]

    def _home(self, run: Run) -> Worker | None:
        """The worker that the run's session lives at, if it is known."""
        home = self.sessions.home(run)
        return None if home is None else self.workers.get(home)

    def find(
        self, pools: Iterable[str], labels: Mapping[str, str], session: str | None
    ) -> Worker | None:
        """A connected worker of these pools that a question about a run with these labels and of
        this session goes to: the one with the fewest runs.

        Raises: `SessionNotFound`.
        """
        for pool in pools if session is not None else ():
            home = self.sessions.at(pool, session or "")
            if home is not None:
                worker = self.workers.get(home)
                return worker if worker is not None and worker.port is not None else None
        if session is not None:
            raise SessionNotFound(f"no session has the id {session}")
        here = [w for pool in pools for w in self.of(pool) if w.info.may_take(labels)]
        return min(here, key=lambda w: len(w.runs), default=None)
