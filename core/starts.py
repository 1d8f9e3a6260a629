"""Accepting runs: once each, routed, durable; and refusing them while something stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

import trio

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted
from fleetgate.core.commits import in_all, within
from fleetgate.core.deadlines import Deadlines
from fleetgate.core.dispatcher import Dispatcher
from fleetgate.core.errors import Conflict, ResourceExhausted, Stopping
from fleetgate.core.events import Event
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import Done, PutOrder, PutRun, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.orders import Orders
from fleetgate.core.run import Run, decide, start
from fleetgate.core.slots import Slot


class Starts:
    """The door that runs come in by, as a whole and for each northbound entry."""

    def __init__(
        self,
        ledger: Ledger,
        dispatcher: Dispatcher,
        orders: Orders,
        deadlines: Deadlines,
        route: Callable[[Run], Run],
    ) -> None:
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._orders = orders
        self._deadlines = deadlines
        self._route = route
        self._pending: dict[RunId, tuple[str, trio.Event]] = {}
        self._stopping: set[str] = set()
        self._changed = trio.Event()
        self.draining = False

    async def start(self, asked: c.StartRun | c.StartRunIf, *, again: bool = False) -> Accepted:
        """Accept a run; the same one again is answered as it stands (I6). `again`: it was refused
        openly before, and waits for what has come of that.

        Raises: `Refusal`. Cancelled, it may or may not be accepted.
        """
        with in_all(self._ledger.limits.answer_within):
            return await self._accept(asked, again)

    async def _accept(self, asked: c.StartRun | c.StartRunIf, again: bool) -> Accepted:
        command = asked.start if isinstance(asked, c.StartRunIf) else asked
        await self.settled(command.run, again=again)
        self._pending[command.run] = (command.origin.link, trio.Event())
        release = partial(self._release, command.run)
        with ExitStack() as unless_in_line:
            unless_in_line.callback(release)
            prepared = await self._prepare(command, asked)
            if isinstance(prepared, Accepted):
                return prepared
            unless_in_line.pop_all()
        slot, events = prepared
        # Until the journal has settled it this id is taken: what is in line may yet be accepted,
        # and a second slot would number the same events once more.
        await self._ledger.commit(partial(self._enqueue, slot, events), settled=release)
        return Accepted(None, slot.seen())

    async def settled(self, run: RunId, *, again: bool = False) -> None:
        """Wait while a run of this id is just being accepted; `again` for as long as any answer
        may take, also where nothing is committed at present: whoever was refused openly and asks
        at once would ask without end.

        Raises: `Unavailable`: it is not settled in time.
        """
        late = f"run {run} is still being accepted; try again later"
        commits = self._ledger.commits
        with within(self._ledger.limits.answer_within if again else commits.patience, late):
            while (pending := self._pending.get(run)) is not None:
                await pending[1].wait()

    async def settled_for(self, question: c.DescribeRun | c.ListRuns | c.ListWorkers) -> None:
        """Wait while a run is just being accepted that the answer must not leave out. A link that
        is lost leaves its starts in line, and the next one compares what is there: a run that is
        not named counts as one that never began. A page, or a list of all entries' runs, says what
        is there just now.

        Raises: `Unavailable`: it is not settled in time.
        """
        if isinstance(question, c.DescribeRun):
            await self.settled(question.run)
        elif isinstance(question, c.ListRuns) and question.limit is None:
            with in_all(self._ledger.limits.answer_within):
                for run in self._being_accepted(question.link):
                    await self.settled(run)

    def _being_accepted(self, link: str | None) -> list[RunId]:
        """Runs of a northbound entry that may yet be accepted; without an entry, none."""
        return [run for run, (each, _) in self._pending.items() if each == link]

    def _release(self, run: RunId) -> None:
        _, done = self._pending.pop(run)
        done.set()
        self.tell()

    async def _prepare(
        self, command: c.StartRun, asked: c.StartRun | c.StartRunIf
    ) -> Accepted | tuple[Slot, Sequence[Event]]:
        """The answer for a run that is known, or the slot and first events of a new one."""
        link = command.origin.link
        if link in self._stopping:
            raise Stopping(f"{link} is stopping and takes no new runs")
        known = await self._ledger.written(command.run)
        if known is not None:
            decide(known, command)
            seen = await self._ledger.seen(command.run)
            return Accepted(seen, seen)
        if self.draining:
            raise Stopping("the gateway is stopping; start the run once it is back")
        self._check_room()
        verdict = start(command, self._ledger.clock())
        run = self._route(verdict.run)
        if isinstance(asked, c.StartRunIf):
            self._dispatcher.check(run, asked)
        slot = Slot(*self._orders.opening(run))
        return slot, verdict.events

    def _check_room(self) -> None:
        if self._ledger.full:
            raise ResourceExhausted(
                "the journal has reached journal_size, and no run of it may be forgotten yet; "
                "raise it, or wait for runs to end and be acknowledged"
            )
        limit = self._ledger.limits.open_runs
        if len(self._ledger.slots) + len(self._pending) > limit:
            raise ResourceExhausted(
                f"{limit} runs are open, which is the limit; wait for some to end"
            )

    def _enqueue(self, slot: Slot, events: Sequence[Event], done: Done) -> None:
        writes: list[Write] = [PutRun(slot.run)]
        writes += (PutOrder(open_.order) for open_ in slot.orders.values())

        def started(error: Exception | None) -> None:
            if error is None:
                self._open(slot, events)
            done(error)

        self._ledger.journal.enqueue(writes, started, may_fail=True)

    def _open(self, slot: Slot, events: Sequence[Event]) -> None:
        self._ledger.slots[slot.run.id] = slot
        self._ledger.record(slot, events)
        self._deadlines.opened(slot)
        if not slot.run.awaits_script:
            self._dispatcher.line_up(slot)

    def stop(self, link: str, mode: c.StopMode) -> list[RunId]:
        """Accept no more runs of a northbound entry; those that are open, or may yet be accepted.

        Raises: `Stopping`, `Conflict` (there are some, and it was to stop if idle; that may
        also be asked while it stops).
        """
        count = self._count(link)
        if mode is c.StopMode.IF_IDLE and count:
            raise Conflict(f"{link} has {count} open run(s); cancel them or drain")
        if mode is not c.StopMode.IF_IDLE and link in self._stopping:
            raise Stopping(f"{link} is already stopping")
        self._stopping.add(link)
        self.tell()
        return [*self._being_accepted(link), *(slot.run.id for slot in self._of(link))]

    def go_on(self, link: str) -> None:
        """Accept runs of an entry again, which was stopped in vain."""
        self._stopping.discard(link)

    async def wait_stopped(self, link: str) -> None:
        """Wait until the entry was stopped and its last run has ended."""
        while link not in self._stopping or self._count(link):
            await self._changed.wait()

    def tell(self) -> None:
        """A run has ended, or something else that `wait_stopped` may wait for."""
        self._changed.set()
        self._changed = trio.Event()

    def _count(self, link: str) -> int:
        """Open runs of an entry, those among them that are just being accepted."""
        return len(self._of(link)) + len(self._being_accepted(link))

    def _of(self, link: str) -> list[Slot]:
        return [
            slot
            for slot in self._ledger.slots.values()
            if slot.run.origin.link == link and not slot.visible.state.terminal
        ]
