"""Giving out work: runs to workers, and to each run's worker its orders.

Orders of a run are handed over strictly by number: 0, the start, first. How far that has
come is the slot's *mark*: an epoch, and the number of the last order that the link of
this epoch was handed or told of at its admission. One step, `advance`, moves it:

    durable, above the mark  →  (marked as sent, where a repeat could not be told)  →  handed

It is called whenever something may have changed: an order became durable, an assignment
did, a mark did, a worker is ready. It does nothing where nothing may be handed.
"""

from __future__ import annotations

from functools import partial

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, Held
from fleetgate.core.errors import ResourceExhausted, SessionNotFound, Unavailable
from fleetgate.core.ids import OrderNumber
from fleetgate.core.journal.api import Done, MarkOrder, OpenOrder, PutNote, PutOrder, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.pace import Pace
from fleetgate.core.roster import Roster, Worker
from fleetgate.core.run import Run
from fleetgate.core.sessions import continued
from fleetgate.core.slots import Slot
from fleetgate.core.worker import NAMED, Liveness

START = OrderNumber(0)


class Dispatcher:
    """What workers are given, and when."""

    def __init__(self, ledger: Ledger, roster: Roster) -> None:
        self._ledger = ledger
        self._roster = roster
        self.pace = Pace()

    # --- runs

    def check(self, run: Run, asked: c.StartRunIf) -> None:
        """Whether a new run may be accepted as it was asked for.

        Raises: `SessionNotFound`, `Unavailable`, `NotAccepted`, `ResourceExhausted`.
        """
        if asked.session_exists and self._roster.sessions.home(run) is None:
            raise SessionNotFound(f"no session has the id {continued(run) or '(none)'}")
        if not asked.worker_here:
            return
        here = [w for w in self._roster.candidates(run) if w.port is not None]
        if not here:
            raise Unavailable("no worker is connected that this run may go to; try again later")
        for worker in here if NAMED in run.work.labels else ():
            worker.info.check_accepts(run.work.labels)
        if not any(w.liveness is Liveness.CONNECTING or w.takes_runs for w in here):
            raise ResourceExhausted(
                "every worker that this run may go to has all the runs it takes"
            )

    def line_up(self, slot: Slot) -> None:
        """A run waits for a worker of its pool."""
        self._roster.line(slot.run.pool)[slot.run.id] = slot
        self.dispatch(slot.run.pool)

    def leave_line(self, slot: Slot) -> None:
        """A run waits no longer."""
        self._roster.line(slot.run.pool).pop(slot.run.id, None)

    def ended(self, slot: Slot) -> None:
        """The run's end is durable: the line that it stood in is done with it, and where its
        entry's runs wait for each other one of them may go."""
        self.leave_line(slot)
        if self.pace.ended(slot.run):
            self.dispatch_all(slot.run.origin.link)

    async def limit(self, command: c.LimitLink) -> Accepted:
        """Set how many runs of an entry may be with workers at a time, durably.

        Raises: `Unavailable`.
        """
        note = None if command.at_once is None else str(command.at_once).encode()
        write = PutNote("pace", command.link, note)

        def enqueue(done: Done) -> None:
            self._ledger.journal.enqueue((write,), partial(limited, done), may_fail=True)

        def limited(done: Done, error: Exception | None) -> None:
            if error is None:
                self.pace.limit(command.link, command.at_once)
                self.dispatch_all(command.link)
            done(error)

        await self._ledger.commit(enqueue)
        return Accepted()

    def dispatch_all(self, link: str) -> None:
        """Give out what waits anywhere, the pool with the oldest run of `link` first."""
        for pool in self._roster.pools_waiting(link):
            self.dispatch(pool)

    def dispatch(self, pool: str) -> None:
        """Give waiting runs to workers that take them, oldest first. A run whose session
        lives at a worker that is busy or away does not hold up the others."""
        line = self._roster.line(pool)
        if not line or not self._roster.has_room(pool):
            return  # nobody is looked for where nothing waits: each worker that comes asks
        for slot in tuple(line.values()):
            if not self.pace.may_go(slot.run):
                continue
            worker = self._roster.choose(slot)
            if worker is not None:
                self._assign(slot, worker)
            elif not self._roster.has_room(pool):
                return

    def _assign(self, slot: Slot, worker: Worker) -> None:
        self.leave_line(slot)
        if slot.run.state.terminal or slot.run.worker is not None:
            return
        self.pace.went(slot.run)
        worker.reserved += 1
        worker.runs[slot.run.id] = slot
        assigned = e.RunAssigned(worker.info.id, worker.epoch)
        self._ledger.record(slot, (assigned,), then=partial(self._assigned, slot, worker))

    def _assigned(self, slot: Slot, worker: Worker) -> None:
        """The assignment is durable. Where a newer link has taken over meanwhile, its
        admission holds the run."""
        worker.reserved -= 1
        run = slot.run
        if run.state.terminal or not self._roster.takes_orders(worker):
            return
        if worker.free is not None:
            worker.free -= 1
        slot.mark = (worker.epoch, START)
        spec = self._roster.sessions.resuming(run)
        first = c.StartRun(run.id, spec, run.origin)
        self._perform(worker, c.Order(run.id, START, first, created=run.created))
        self.advance(slot)

    def _perform(self, worker: Worker, order: c.Order) -> None:
        if worker.port is not None:
            worker.port.perform(order)

    # --- orders

    def advance(self, slot: Slot) -> None:
        """Hand over what can be handed over now."""
        worker = self._roster.worker_of(slot)
        if worker is None or not self._roster.takes_orders(worker):
            return
        for number, open_ in sorted(slot.orders.items()):
            epoch, last = slot.mark
            if epoch != worker.epoch or slot.marking is not None:
                return
            if number <= last or number not in slot.orders:
                continue
            if open_.order.input and not worker.info.numbered_input and not open_.sent:
                self._mark(slot, worker, open_)
                return
            slot.mark = (epoch, number)
            self._perform(worker, open_.order)

    def _mark(self, slot: Slot, worker: Worker, open_: OpenOrder) -> None:
        """An input that the worker could not tell from its repeat is marked as sent before it
        is handed over. What stands behind it waits."""
        slot.marking = open_.order.number
        mark = MarkOrder(slot.run.id, open_.order.number, settled=False)
        self._ledger.journal.enqueue((mark,), partial(self._marked, slot, worker, open_))

    def _marked(
        self, slot: Slot, worker: Worker, open_: OpenOrder, error: Exception | None
    ) -> None:
        slot.marking = None
        number = open_.order.number
        # Only a link that is still there is handed it. The next one finds it not sent, and
        # marks it anew; only a crash in between leaves it in doubt.
        if error is None and self._roster.takes_orders(worker) and number in slot.orders:
            slot.orders[number] = attrs.evolve(open_, sent=True)
            slot.mark = (worker.epoch, number)
            self._perform(worker, open_.order)
        self.advance(slot)

    # --- admission

    def hold(self, worker: Worker) -> list[Write]:
        """What the worker's admission will tell it of is settled now, before its commit; what
        becomes durable later is handed over once it is ready."""
        writes: list[Write] = []
        for slot in list(worker.runs.values()):
            if not worker.info.numbered_input:
                self._drop_uncertain(slot)
                writes += self._mark_inputs(slot, worker)
            slot.mark = (worker.epoch, max(slot.orders, default=START))
        return writes

    def _drop_uncertain(self, slot: Slot) -> None:
        """An input is handed at most once to a worker that cannot tell a repeat. One that was
        handed and never confirmed may have arrived or not: that is said, not tried again."""
        for number, open_ in list(slot.orders.items()):
            if open_.sent and open_.order.input:
                del slot.orders[number]
                text = f"input {open_.order.input} may or may not have reached the worker"
                settled = MarkOrder(slot.run.id, number, settled=True)
                said = e.Diagnosed(text, "input_uncertain")
                self._ledger.record(slot, (said,), also=(settled,))

    def _mark_inputs(self, slot: Slot, worker: Worker) -> list[Write]:
        """The journal has them as sent from the admission's commit on; here they are once the
        worker is told (`tell_held`)."""
        inputs = [number for number, open_ in slot.orders.items() if open_.order.input]
        worker.telling += ((slot, number) for number in inputs)
        return [MarkOrder(slot.run.id, number, settled=False) for number in inputs]

    def take_back(self, worker: Worker) -> None:
        """The worker was not admitted, and is told nothing: what its admission marks as sent, if
        it becomes durable after all, is marked as not sent behind it."""
        telling, worker.telling = worker.telling, []
        for slot, number in telling:
            if number in slot.orders:
                self._ledger.write((PutOrder(slot.orders[number].order),))

    def tell_held(self, worker: Worker) -> tuple[Held, ...]:
        """What the worker may still be working on, as journaled, up to the marks of `hold`. It is
        told now, and its inputs count as sent."""
        telling, worker.telling = worker.telling, []
        for slot, number in telling:
            if number in slot.orders:
                slot.orders[number] = attrs.evolve(slot.orders[number], sent=True)
        return tuple(map(self._held, list(worker.runs.values())))

    def _held(self, slot: Slot) -> Held:
        seen = slot.seen()
        _, last = slot.mark
        orders = tuple(o.order for n, o in sorted(slot.orders.items()) if n <= last)
        spec = seen.work if seen.accepted else self._roster.sessions.resuming(seen)
        return Held(attrs.evolve(seen, spec=spec), orders)

    def resume(self, worker: Worker) -> None:
        """The worker is ready: hand over what came while it compared."""
        for slot in list(worker.runs.values()):
            self.advance(slot)
        self.dispatch(worker.info.pool)
