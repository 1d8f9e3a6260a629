"""What a link that speaks for a worker tells the hub."""

from __future__ import annotations

from typing import Protocol, TypeAlias, assert_never

from fleetgate.core.errors import Fenced
from fleetgate.core.hub import Hub
from fleetgate.core.ids import Epoch, RunId, WorkerId
from fleetgate.core.receiver import Heard
from fleetgate.core.watchers import Happening
from fleetgate.protocols import api
from fleetgate.protocols.bulk import Bulk

WorkerStep: TypeAlias = (
    api.WorkerReady
    | api.WithdrawWorker
    | api.ReportCapacity
    | api.Settle
    | api.Respond
    | api.Notify
)


class Reporter(Protocol):
    """Where it says what the operator should see."""

    def report(self, what: str, detail: str, run: str | None) -> None: ...


class Observer(Reporter, Protocol):
    """Where a link says what the operator should see. Nothing of it blocks or raises."""

    def report(self, what: str, detail: str, run: str | None) -> None:
        """Something that an adapter reports (`api.Report`), or the driver itself."""
        ...

    def fault(self, error: BaseException) -> None:
        """A fault of ours that ends this link."""
        ...


class Speaker:
    """A worker's word to the hub, under the epoch that its link was admitted with. What an
    older epoch says is reported and goes nowhere (I7)."""

    def __init__(self, hub: Hub, reporter: Reporter) -> None:
        self._hub = hub
        self._reporter = reporter
        self._admitted: tuple[WorkerId, Epoch] | None = None
        self.link: tuple[str, str] = ("", "")
        """The entry and the peer that speak."""
        self._reports: list[tuple[RunId, list[Heard]]] = []
        """What frames that came together report. It goes to the hub together, before anything
        else goes there and before this task waits: one entry in the journal's line costs about
        what one event in it costs."""
        self._open: dict[RunId, list[Heard]] = {}
        """The last report of each run, which what comes in bulk is added to."""

    @property
    def worker(self) -> WorkerId | None:
        """The worker that is spoken for."""
        return None if self._admitted is None else self._admitted[0]

    def admitted(self, worker: WorkerId, epoch: Epoch) -> None:
        """The link was admitted."""
        self._admitted = (worker, epoch)
        self._hub.ladders.passages.came(worker, epoch, *self.link)

    def fenced(self) -> None:
        """A newer link speaks for the worker now."""
        self._admitted = None

    def record(self, step: api.Record) -> None:
        """Keep what is reported until `flush`."""
        if not self._reports or self._reports[-1][0] != step.run:
            self._begin(step.run)
        # Behind all that other runs said before: what follows from the two may have an order.
        self._reports[-1][1].append((step.events, step.native_seq, step.stamp))

    def hear(self, bulk: Bulk) -> None:
        """Keep what is reported in bulk until `flush`."""
        for run, heard in bulk.heard.items():
            (self._open.get(run) or self._begin(run)).extend(heard)

    def _begin(self, run: RunId) -> list[Heard]:
        heard = self._open[run] = list[Heard]()
        self._reports.append((run, heard))
        return heard

    def flush(self) -> None:
        """Hand over what was reported."""
        if not self._reports:
            return
        reports, self._reports, self._open = self._reports, [], {}
        if self._admitted is None:
            for run, _ in reports:
                self._reporter.report("no_worker", "Record", run)
            return
        try:
            foreign = self._hub.record_all(*self._admitted, reports)
        except Fenced as fenced:
            self._reporter.report("fenced", fenced.message, reports[0][0])
            return
        for _ in foreign:
            self._reporter.report(
                "foreign_run", "an event of a run that is not this worker's", None
            )

    def perform(self, step: WorkerStep) -> None:
        """Perform a step of a worker's link, behind what was reported before it."""
        self.flush()
        if isinstance(step, api.Notify):
            info = None if self._admitted is None else self._hub.worker(self._admitted[0]).info
            self._hub.watchers.tell(Happening.TOLD, info, body=step.body)
            return
        if isinstance(step, api.Respond):
            self._hub.respond(step.question_id, step.reports)
            return
        if self._admitted is None:
            self._reporter.report("no_worker", type(step).__name__, None)
            return
        try:
            self._tell(step, *self._admitted)
        except Fenced as fenced:
            self._reporter.report("fenced", fenced.message, None)

    def _tell(
        self,
        step: api.WorkerReady | api.WithdrawWorker | api.ReportCapacity | api.Settle,
        id: WorkerId,
        epoch: Epoch,
    ) -> None:
        match step:
            case api.WorkerReady():
                self._hub.ready(id, epoch, step.free)
            case api.ReportCapacity():
                self._hub.report_capacity(id, epoch, step.free)
            case api.Settle():
                self._hub.settle(id, epoch, step.run, step.number, step.error)
            case api.WithdrawWorker():
                self._hub.withdraw(id, epoch, step.reason, step.gone)
                self._admitted = None
            case _:
                assert_never(step)

    def end(self, reason: str) -> None:
        """The link is gone."""
        self.flush()
        if self._admitted is not None:
            self._hub.withdraw(*self._admitted, reason)
