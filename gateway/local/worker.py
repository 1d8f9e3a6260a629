"""A worker that carries runs out on this machine and speaks to the hub directly."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

import attrs
import trio

from fleetgate.core.answers import Admission, Held
from fleetgate.core.commands import Order, ProbeWorkers, ReadUsage, StartRun
from fleetgate.core.errors import Refusal, RunEnded, UnsupportedInput
from fleetgate.core.events import Event, Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import Epoch, OrderNumber, RunId, WorkerId
from fleetgate.core.json import Json
from fleetgate.core.roster import Port, Worker
from fleetgate.core.worker import AccountReport, Reports, WorkerInfo
from fleetgate.gateway.local.adapters import Adapters, ShellOnly
from fleetgate.gateway.local.execution import KILL_AFTER, Ground
from fleetgate.gateway.local.launch import available_shells
from fleetgate.gateway.local.process import kill_recorded
from fleetgate.gateway.local.script import UsageTable
from fleetgate.gateway.local.work import Doing
from fleetgate.gateway.speaking import Observer

NOTE: Final = "local"
"""The name under which a run's process is noted with the run."""


class Hub(Protocol):
    """What a local worker needs of `fleetgate.core.hub.Hub`."""

    def worker(self, id: WorkerId) -> Worker: ...
    async def admit(self, info: WorkerInfo, port: Port) -> Admission: ...
    def ready(self, worker: WorkerId, epoch: Epoch, free: int | None) -> None: ...
    def report_capacity(self, worker: WorkerId, epoch: Epoch, free: int | None) -> None: ...
    def record(
        self,
        worker: WorkerId,
        epoch: Epoch,
        run: RunId,
        events: Sequence[Event],
        native_seq: int | None = None,
    ) -> bool: ...
    def settle(
        self,
        worker: WorkerId,
        epoch: Epoch,
        run: RunId,
        number: OrderNumber,
        error: Refusal | None = None,
    ) -> None: ...
    def respond(self, question_id: int, reports: Reports | Refusal) -> None: ...
    async def annotate(self, run: RunId, name: str, value: Json) -> None: ...
    def withdraw(self, worker: WorkerId, epoch: Epoch, reason: str, gone: bool = False) -> None: ...
    async def wait_room(self) -> None: ...


@attrs.frozen(slots=True)
class LocalSettings:
    """`max_running` runs at a time; more wait in the hub. `directory` is where omitted
    and relative working directories start, `state` where scripts are stored (0700).
    `cancel_grace`: seconds until a canceled command that has not ended is killed."""

    state: Path
    max_running: int = 16
    directory: str = attrs.field(factory=os.getcwd)
    cancel_grace: float = KILL_AFTER


class LocalWorker:
    """The port of one local worker. `serve` announces it and carries out what it is given, by
    its `adapters`; without any it executes commands."""

    def __init__(
        self,
        id: WorkerId,
        pool: str,
        hub: Hub,
        settings: LocalSettings,
        observer: Observer,
        adapters: Adapters | None = None,
    ) -> None:
        self._id = id
        self._pool = pool
        self._hub = hub
        self._settings = settings
        self._observer = observer
        self._scripts = settings.state / "scripts"
        ground = Ground(settings.directory, self._scripts, settings.cancel_grace)
        self._adapters = ShellOnly(ground) if adapters is None else adapters
        self._executions: dict[RunId, Doing] = {}
        self._idle = trio.Event()
        self._draining = False
        self._nursery: trio.Nursery | None = None
        self._epoch = Epoch(0)
        self._fenced = False

    async def serve(
        self, task_status: trio.TaskStatus[WorkerId] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Execute runs until cancelled, or until another worker of this id takes over.

        What an earlier process left is given up first: its runs are lost, its process
        groups killed. Cancelled, the running commands are ended within seconds and their
        runs are lost.

        Raises: `Refusal` where the hub does not admit it, `OSError` where `state` cannot be used.
        """
        self._clear_scripts()
        try:
            async with trio.open_nursery() as self._nursery:
                admission = await self._hub.admit(self._info(), self)
                self._epoch = admission.epoch
                self._give_up(admission.held)
                self._hub.ready(self._id, self._epoch, self._free())
                task_status.started(self._id)
                await trio.sleep_forever()
        finally:
            if self._epoch and not self._fenced:
                self._hub.withdraw(self._id, self._epoch, "the local worker stops", gone=True)

    def _info(self) -> WorkerInfo:
        return WorkerInfo(
            self._id,
            self._pool,
            self._adapters.inputs,
            numbered_input=True,
            enforces_timeout=True,
            asks=self._adapters.usage is not None,
            detail={"shells": available_shells(), "directory": self._settings.directory},
        )

    def _clear_scripts(self) -> None:
        self._scripts.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in self._scripts.iterdir():
            left.unlink()

    def _give_up(self, held: Iterable[Held]) -> None:
        """The runs of an earlier process: nobody can know how they ended."""
        for each in held:
            killed = kill_recorded(each.run.id, each.run.notes.get(NOTE))
            detail = "its processes were still there and are killed" if killed else ""
            self._observer.report("run_lost", detail, each.run.id)
            text = "the host daemon was restarted while the command was running"
            self.record(each.run.id, RunFinished(Outcome(RunState.LOST, Reason.LOST, text)))

    def _free(self) -> int:
        """Counted from what the hub has bound to us: that holds runs, too, whose start order
        is still on its way."""
        if self._draining:
            return 0
        bound = self._hub.worker(self._id).runs.values()
        return self._settings.max_running - sum(not slot.run.state.terminal for slot in bound)

    # --- what the hub calls

    def perform(self, order: Order) -> None:
        """Start a run, or hand an order to the one that runs."""
        if isinstance(order.command, StartRun):
            self._start(order.run, order.command)
        elif order.run in self._executions:
            self._executions[order.run].give(order)
        else:
            self.settle(order.run, order.number, RunEnded(f"run {order.run} does not run here"))

    def ask(self, question_id: int, question: ProbeWorkers | ReadUsage) -> None:
        """Usage is as scripted; else there is nothing to ask a local worker."""
        usage = self._adapters.usage
        if usage is None or isinstance(question, ProbeWorkers) or self._nursery is None:
            self._hub.respond(question_id, UnsupportedInput("a local worker has no providers"))
        else:
            self._nursery.start_soon(self._tell_usage, question_id, usage)

    async def _tell_usage(self, question_id: int, usage: UsageTable) -> None:
        await trio.sleep(usage.delay)
        self._hub.respond(question_id, (AccountReport("mock", True, usage.report),))

    def committed(self, run: RunId, native_seq: int) -> None:
        """Its events have no numbers of their own, and it never sends one again."""

    def end_session(self, session: str) -> None:
        """Keep nothing of the session. Where the disk does not let go of it, the log says so."""
        try:
            self._adapters.end_session(session)
        except OSError as error:
            self._observer.fault(error)

    def fenced(self, reason: str) -> None:
        """Stop: what runs here is not ours to report any more."""
        self._observer.report("worker_fenced", reason, None)
        self._fenced = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    async def drain(self) -> None:
        """Take no more runs, and wait until those at work have ended: nothing of them outlives
        this process. Cancelled, they go on, and no more are taken."""
        self._draining = True
        self._hub.report_capacity(self._id, self._epoch, 0)
        while self._executions:
            self._idle = trio.Event()
            await self._idle.wait()

    # --- executions

    def _start(self, run: RunId, command: StartRun) -> None:
        if self._nursery is None:
            raise RuntimeError("a worker takes orders only while it is served")
        execution = self._adapters.begin(run, command.spec, self)
        self._executions[run] = execution
        self._nursery.start_soon(self._execute, run, execution)

    async def _execute(self, run: RunId, execution: Doing) -> None:
        try:
            await execution.run()
        except Exception as error:  # a fault of ours ends this run and no other (I11)
            self._observer.fault(error)
            text = f"the local worker failed ({type(error).__name__}); its log says more"
            self.record(run, RunFinished(Outcome(RunState.FAILED, Reason.ERROR, text)))
        finally:
            del self._executions[run]
            if not self._executions:
                self._idle.set()
        if not self._fenced:
            self._hub.report_capacity(self._id, self._epoch, self._free())

    # --- what executions report

    def record(self, run: RunId, event: Event) -> None:
        """Pass an event on."""
        if not self._fenced:
            self._hub.record(self._id, self._epoch, run, (event,))

    def settle(self, run: RunId, number: OrderNumber, error: Refusal | None = None) -> None:
        """Pass on that an order was carried out or refused."""
        if not self._fenced:
            self._hub.settle(self._id, self._epoch, run, number, error)

    async def annotate(self, run: RunId, value: Json) -> None:
        """Keep the run's process with the run."""
        await self._hub.annotate(run, NOTE, value)

    async def wait_room(self) -> None:
        """Wait while the journal has too much to write."""
        await self._hub.wait_room()
