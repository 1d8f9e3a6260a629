"""The trio engine: the one place where runs, workers and the journal meet.

Everything that changes a run goes through here, on one thread. A command is decided, put in line
for the journal, and answered once durable (I2). A worker's event is numbered, put in line, and
shown to followers and confirmed to the worker once durable (I1, I3). It knows no wire format.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.acknowledging import Acknowledging
from fleetgate.core.answers import Accepted, Admission, Answer, WorkerList
from fleetgate.core.canceling import Canceling
from fleetgate.core.commits import in_all
from fleetgate.core.crew import Crew
from fleetgate.core.deadlines import Deadlines
from fleetgate.core.denials import Denials
from fleetgate.core.dispatcher import Dispatcher
from fleetgate.core.errors import ApprovalNotFound, Refusal, RunEnded
from fleetgate.core.events import Event
from fleetgate.core.follow import Follower, Shelf
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.journal.api import Journal, OpenRun, Pressure
from fleetgate.core.json import Json
from fleetgate.core.ladder import Ladders
from fleetgate.core.ledger import Ledger
from fleetgate.core.leftovers import Leftovers
from fleetgate.core.limits import Limits
from fleetgate.core.notes import Notes
from fleetgate.core.orders import Orders
from fleetgate.core.questions import Questions
from fleetgate.core.receiver import Receiver, Report
from fleetgate.core.retention import Retention
from fleetgate.core.roster import Port, Roster, Worker, remembered
from fleetgate.core.routing import Router
from fleetgate.core.run import Run, decide
from fleetgate.core.session import Owner
from fleetgate.core.slots import Slot, Told
from fleetgate.core.starts import Starts
from fleetgate.core.timers import Clock, Timer, Timers
from fleetgate.core.watchers import Tell, Watchers
from fleetgate.core.worker import Reports, WorkerInfo, WorkerStatus


class Hub:
    """Open one with `open_hub`. Methods without `async` never block; they may be called from
    any task of the hub's own trio run."""

    def __init__(self, journal: Journal, router: Router, clock: Clock, limits: Limits) -> None:
        self.router = router
        """May be replaced while running; runs that were accepted keep their route."""
        self._timers = Timers(clock)
        self._ledger = Ledger(journal, clock, limits, self._visible)
        self._acknowledging = Acknowledging(self._ledger)
        self._questions = Questions(limits)
        self.watchers = Watchers(lambda link: self.router.pools(link), clock)
        self._roster = Roster()
        self._dispatcher = Dispatcher(self._ledger, self._roster)
        leftovers = Leftovers(self._roster, clock)
        self._receiver = Receiver(self._ledger, self._roster, leftovers)
        self._crew = Crew(
            self._ledger,
            self._timers,
            self._roster,
            self._dispatcher,
            leftovers,
            self._questions.left,
            self.watchers,
        )
        self._orders = Orders(self._ledger, self._dispatcher, limits, self._route, self._hears)
        self._deadlines = Deadlines(
            self._ledger, self._timers, self._roster.worker_of, leftovers, self._cancel_late
        )
        self._starts = Starts(
            self._ledger, self._dispatcher, self._orders, self._deadlines, self._route
        )
        self._shelf = Shelf(journal, self._ledger.slots.get, self._starts.settled)
        self._notes = Notes(self._ledger, self._starts)
        self._canceling = Canceling(
            self._ledger, self._roster.sessions, self._starts, self._crew, self._command
        )
        self._denials = Denials(lambda link, pool: self.router.denies(link, pool), self._order)
        self.retention = Retention(self._ledger)
        self.ladders = Ladders(self._ledger)
        self._nursery: trio.Nursery | None = None

    # --- commands

    async def submit(
        self, command: c.Command, key: str | None = None, *, again: bool = False
    ) -> Answer:
        """Ask for `command`; what it changes is durable when it is answered (I2), but for
        `StopLink`, which holds until the gateway ends.

        `key`: of a command about one run. Once that command is `Accepted`, a repeat of its key
        for that run is answered `Accepted`, with the run as it stands by then, and nothing is
        performed (I6): also behind a restart, and behind the run's end. A run remembers the last
        `Limits.run_keys` keys. A command that was refused leaves no key. Other commands have
        no use for a key: a start is known by its run's id, and the rest can be asked for again.
        `again`: a start that was refused openly; it waits for what has come of that, also where
        nothing is committed at present and others are refused at once.
        Raises: `Refusal`. Cancelled, the command may or may not be performed.
        """
        match command:
            case c.StartRun() | c.StartRunIf():
                return await self._starts.start(command, again=again)
            case c.CancelRun():
                return await self._cancel(command, key)
            case c.DescribeRun() | c.ListRuns() | c.ListWorkers():
                return await self._look(command)
            case c.ProbeWorkers() | c.ReadUsage():
                pools = partial(self.router.pools, command.link)
                return await self._questions.put(command, pools, self._roster)
            case c.EndSession():
                await self._canceling.end_session(command)
                return Accepted()
            case c.LimitLink():
                return await self._dispatcher.limit(command)
            case c.DrainWorker():
                await self._crew.drain(command.worker, command.on)
                return Accepted()
            case c.StopLink():
                await self._canceling.stop_link(command)
                return Accepted()
            case c.AcknowledgeRun():
                before, after = await self._acknowledging.acknowledge_durably(
                    command.run, command.through
                )
                return Accepted(before, after)
            case _:
                return await self._command(command, key)

    async def _look(self, command: c.DescribeRun | c.ListRuns | c.ListWorkers) -> Answer:
        await self._starts.settled_for(command)
        match command:
            case c.DescribeRun():
                run = await self._ledger.seen(command.run)
                return Accepted(run, run)
            case c.ListRuns():
                return await self._ledger.runs(command)
            case c.ListWorkers():
                known = self._roster.workers
                wanted = known if command.ids is None else {id for id in command.ids if id in known}
                return WorkerList(tuple(known[id].status() for id in sorted(wanted)))

    def _route(self, run: Run) -> Run:
        pool, routed = self.router.route(run.origin.link, run.spec, run.created)
        return attrs.evolve(run, pool=pool, routed=None if routed == run.spec else routed)

    def _hears(self, pool: str) -> bool:
        return self.router.hears_decisions(pool)

    async def _command(self, command: c.RunCommand, key: str | None = None) -> Accepted:
        with in_all(self._ledger.limits.answer_within):
            await self._starts.settled(command.run)
            slot = self._ledger.slots.get(command.run)
            if slot is None:
                return await self._command_ended(command, key)
            return await self._orders.give(slot, command, key)

    async def _command_ended(self, command: c.RunCommand, key: str | None) -> Accepted:
        if await self._knows(command.run, key):
            seen = await self._ledger.seen(command.run)
            return Accepted(seen, seen)
        before, after = await self._ledger.change_ended(
            command.run, lambda run: decide(run, command).run
        )
        return Accepted(before, after)

    async def _cancel(self, command: c.CancelRun, key: str | None = None) -> Accepted:
        """Cancel a run; with it its session, unless that was done before under this key."""
        if command.scope is c.CancelScope.SESSION and not await self._knows(command.run, key):
            await self._canceling.session_beside(command)
        return await self._command(c.CancelRun(command.run, reason=command.reason), key)

    async def _knows(self, run: RunId, key: str | None) -> bool:
        slot = self._ledger.slots.get(run)
        if key is None or slot is not None:
            return slot is not None and key in slot.keys
        return await self._ledger.knows(run, key)

    def worker(self, id: WorkerId) -> Worker:
        """A worker that is or was connected.

        Raises: `WorkerNotFound`.
        """
        return self._crew.find(id)

    def session_owners(self, session: str) -> set[Owner]:
        """Who began the sessions that a controller would reach by this id. Where none is known by
        it, each open run is looked at."""
        runs = (slot.run for slot in self._ledger.slots.values())
        return self._roster.sessions.owners(session, runs)

    def watch(self, link: str, tell: Tell) -> Callable[[], None]:
        """Tell of the workers that `link` is routed to, first of those that are here, until what
        comes back is called. `tell` must not block or raise."""
        here = self._roster.workers.values()
        return self.watchers.watch(link, tell, (each.status() for each in here))

    # --- what the gateway itself asks

    def watch_workers(self, changed: Callable[[WorkerStatus], None]) -> None:
        """Have `changed` told of each worker that comes, gets ready or leaves."""
        self._crew.changed = lambda worker: changed(worker.status())

    def at(self, when: int, act: Callable[[], None]) -> Timer:
        """Have `act` called at a moment; see `Timers.at`."""
        return self._timers.at(when, act)

    def drain(self) -> None:
        """Refuse new runs from now on; those that run go on at their workers."""
        self._starts.draining = True

    @property
    def draining(self) -> bool:
        """Whether new runs are refused because the gateway stops."""
        return self._starts.draining

    async def wait_stopped(self, link: str) -> None:
        """Wait until a controller has stopped the northbound entry `link` and its last run
        has ended."""
        await self._starts.wait_stopped(link)

    # --- what a controller's link does beside commands

    def follow(self, run: RunId, after: Seq, told: Told | None = None) -> Follower:
        """The committed events above `after` of an accepted run, and those to come. `told`: as
        for `Follower`."""
        return Follower(self._shelf, run, after, told)

    async def acknowledge(self, run: RunId, through: int) -> None:
        """The controller has the run's events up to `through`, clamped to the last.

        Raises: `RunNotFound`, `Unavailable`.
        """
        await self._acknowledging.acknowledge(run, through)

    async def annotate(self, run: RunId, name: str, value: Json) -> None:
        """Keep a small value with the run, durably. See `Notes.annotate`."""
        await self._notes.annotate(run, name, value)

    # --- what a worker's link does

    async def admit(self, info: WorkerInfo, port: Port) -> Admission:
        """Let a link speak for a worker. See `Crew.admit`."""
        return await self._crew.admit(info, port)

    def ready(self, worker: WorkerId, epoch: Epoch, free: int | None) -> None:
        """See `Crew.ready`."""
        self._crew.ready(worker, epoch, free)

    def report_capacity(self, worker: WorkerId, epoch: Epoch, free: int | None) -> None:
        """See `Crew.report_capacity`."""
        self._crew.report_capacity(worker, epoch, free)

    def record(
        self,
        worker: WorkerId,
        epoch: Epoch,
        run: RunId,
        events: Sequence[Event],
        native_seq: int | None = None,
    ) -> bool:
        """As `record_all`, of one run. Answers whether it is this worker's, or was until the hub
        ended it; of no other anything is recorded. Raises: `Fenced`."""
        return not self.record_all(worker, epoch, ((run, ((events, native_seq, None),)),))

    def record_all(
        self, worker: WorkerId, epoch: Epoch, reports: Sequence[Report]
    ) -> Sequence[RunId]:
        """Take a worker's reports. See `Receiver.record`."""
        return self._receiver.record(worker, epoch, reports)

    def settle(
        self,
        worker: WorkerId,
        epoch: Epoch,
        run: RunId,
        number: OrderNumber,
        error: Refusal | None = None,
    ) -> None:
        """See `Receiver.settle`."""
        self._receiver.settle(worker, epoch, run, number, error)

    def respond(self, question_id: int, reports: Reports | Refusal) -> None:
        """A worker's answer to a question; a late one is dropped."""
        self._questions.respond(question_id, reports)

    def withdraw(self, worker: WorkerId, epoch: Epoch, reason: str, gone: bool = False) -> None:
        """See `Crew.withdraw`."""
        self._crew.withdraw(worker, epoch, reason, gone)

    # --- the journal's state, for those who can wait

    def pressure(self) -> Pressure:
        """How full the line to the journal is."""
        return self._ledger.journal.pressure()

    @property
    def has_room(self) -> bool:
        """Whether `wait_room` would wait for nothing."""
        return self._ledger.journal.has_room

    async def wait_room(self) -> None:
        """Wait until the line to the journal is under its bound."""
        await self._ledger.journal.wait_room()

    # --- what follows from a commit

    def _visible(self, slot: Slot) -> None:
        run = slot.visible
        worker = self._roster.worker_of(slot)
        if worker is not None and worker.port is not None and run.id in worker.runs:
            worker.port.committed(run.id, slot.visible_native)
        if run.state.terminal:
            self._close(slot)
        else:
            self._deadlines.started(slot)
            self._denials.look(slot)

    def _close(self, slot: Slot) -> None:
        """The run's end is visible. Its slot goes once nobody needs it any more."""
        self._crew.ended(slot)
        self._deadlines.closed(slot)
        if not slot.needed and self._ledger.slots.get(slot.run.id) is slot:
            del self._ledger.slots[slot.run.id]
        self._starts.tell()

    def _cancel_late(self, slot: Slot) -> None:
        # The second deadline ends the run whatever became of this order.
        self._order(slot, [c.CancelRun(slot.run.id, reason="its timeout passed")])

    def _order(self, slot: Slot, commands: Sequence[c.RunCommand]) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(self._order_quietly, slot, commands)

    async def _order_quietly(self, slot: Slot, commands: Sequence[c.RunCommand]) -> None:
        for command in commands:
            try:
                await self._command(command)
            except (ApprovalNotFound, RunEnded):
                pass  # somebody was faster
            except Refusal as refusal:
                self._ledger.record(slot, (e.Diagnosed(refusal.message, refusal.code),))

    # --- coming up

    async def recover(self) -> None:
        """Take up what the journal holds. Called once, before anything else."""
        now = self._ledger.clock()
        for key, note in (await self._ledger.journal.notes("worker")).items():
            self._roster.workers[WorkerId(key)] = remembered(WorkerId(key), note, now)
        await self._crew.endings.recover()
        for key, note in (await self._ledger.journal.notes("session")).items():
            self._roster.sessions.remember(key, note)
        for key, note in (await self._ledger.journal.notes("pace")).items():
            self._dispatcher.pace.limit(key, int(note))
        for open_run in await self._ledger.journal.open_runs():
            self._restore(open_run, await self._ledger.clock_of(open_run.run))
        for worker in self._roster.workers.values():
            self._crew.await_return(worker)

    def _restore(self, known: OpenRun, clock: int) -> None:
        slot = Slot(known.run, tuple(known.orders), known.keys)
        slot.clock = clock
        self._ledger.slots[known.run.id] = slot
        self._crew.restore(slot)
        self._deadlines.opened(slot)

    def start(self, nursery: trio.Nursery) -> None:
        """Work in `nursery` until it is cancelled."""
        self._nursery = nursery
        for work in (self._timers.run, self._ledger.publish, self.retention.run):
            nursery.start_soon(work)
        for slot in self._ledger.slots.values():
            self._denials.look(slot)


@asynccontextmanager
async def open_hub(
    journal: Journal, router: Router, clock: Clock, limits: Limits | None = None
) -> AsyncGenerator[Hub, None]:
    """A hub at work on `journal`, with all that the journal holds taken up. Leaving it stops
    its deadlines; the journal's own context then commits what was put in line."""
    hub = Hub(journal, router, clock, limits or Limits())
    await hub.recover()
    async with trio.open_nursery() as nursery:
        hub.start(nursery)
        yield hub
        nursery.cancel_scope.cancel()
