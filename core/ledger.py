"""The open runs and the line to the journal: numbering, committing, publishing."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from weakref import WeakValueDictionary

import trio

from fleetgate.core.answers import RunList
from fleetgate.core.commands import ListRuns
from fleetgate.core.commits import Commits, in_all, readable
from fleetgate.core.errors import InvalidArgument, RunNotFound, Unavailable
from fleetgate.core.events import Event, Source
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import Done, Journal, PutRun, RunFilter, Write
from fleetgate.core.limits import Limits
from fleetgate.core.passages import STORED, Passages
from fleetgate.core.recording import Line, Recording
from fleetgate.core.run import Run
from fleetgate.core.slots import Slot
from fleetgate.core.timers import Clock


class Ledger:
    """Every open run's slot, and the only hand that writes runs and events.

    `visible` is called once per group of commits for each run that changed: a plain call
    that must not raise.
    """

    def __init__(
        self, journal: Journal, clock: Clock, limits: Limits, visible: Callable[[Slot], None]
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.limits = limits
        self.slots: dict[RunId, Slot] = {}
        self.passages = Passages(clock)
        self.full = False
        """The journal has reached its size, and nothing of it may be forgotten."""
        self._visible = visible
        self.commits = Commits(journal, limits)
        self._turns: WeakValueDictionary[RunId, trio.Semaphore] = WeakValueDictionary()
        """Of ended runs that are just being changed; whoever has or awaits a turn keeps it."""
        self._line = Line(journal, self.touch, self.put)
        self._dirty: dict[Slot, None] = {}
        self._flag = trio.Event()

    async def written(self, id: RunId) -> Run | None:
        """A run with everything that was put in line, open or ended."""
        slot = self.slots.get(id)
        return slot.run if slot is not None else await self._get(id)

    async def _get(self, id: RunId) -> Run | None:
        with readable():
            return await self.journal.get(id)

    async def clock_of(self, run: Run) -> int:
        """How late an open run is by its worker's clock: its last event says so.

        Raises: `Unavailable`.
        """
        if not run.clock:
            return 0
        with readable():
            last = await self.journal.read(run.id, Seq(run.last_seq - 1), items=1, size=1)
        return max((each.source.time or 0 for each in last if each.source), default=run.clock)

    async def knows(self, id: RunId, key: str) -> bool:
        """Whether the run has seen a command key, as committed.

        Raises: `Unavailable`.
        """
        with readable():
            return await self.journal.knows(id, key)

    async def runs(self, which: ListRuns) -> RunList:
        """Runs as committed.

        Raises: `InvalidArgument`, `Unavailable`.
        """
        found = await self._found(which)
        if which.controller is None:
            return found
        own = [run for run in found.runs if run.origin.controller in ("", which.controller)]
        return RunList(tuple(own), found.more)

    async def _found(self, which: ListRuns) -> RunList:
        if which.latest is not None and which.link is not None:
            return await self._latest(which.link, which.latest)
        limit = which.limit
        if limit is not None and limit < 1:
            raise InvalidArgument(f"a page of runs has 1 or more of them; {limit} came")
        try:
            which.after.encode()
        except UnicodeEncodeError:
            raise InvalidArgument("the id to list runs after is not text") from None
        wanted = RunFilter(which.link, which.open_only, which.unacknowledged)
        with readable():
            # One more than asked for tells whether there are more.
            found = await self.journal.find(
                wanted, after=which.after, items=None if limit is None else limit + 1
            )
        return RunList(tuple(found[:limit]), limit is not None and len(found) > limit)

    async def _latest(self, link: str, items: int) -> RunList:
        with readable():
            found = await self.journal.find(RunFilter(link, open_only=True))
            ended = await self.journal.latest(link, items=items)
        # One that has ended between the two is in both: as ended it is the newer.
        runs = {run.id: run for run in (*found, *ended)}
        return RunList(tuple(sorted(runs.values(), key=lambda run: run.id.encode())))

    def in_hand(self, id: RunId) -> bool:
        """Whether the run is open, or just being changed."""
        return id in self.slots or id in self._turns

    async def seen(self, id: RunId) -> Run:
        """A run as committed, open or ended.

        Raises: `RunNotFound`, `Unavailable`.
        """
        slot = self.slots.get(id)
        run = slot.seen() if slot is not None else await self._get(id)
        if run is None:
            raise RunNotFound(f"no run has the id {id}")
        return run

    async def change_ended(self, id: RunId, change: Callable[[Run], Run]) -> tuple[Run, Run]:
        """Change the row of a run that has ended; the run before and behind it. One change at
        a time, so that none is lost: each reads what the one before has committed.

        Raises: `RunNotFound`, `Unavailable`.
        """
        with in_all(self.limits.answer_within):
            return await self._change_ended(id, change)

    async def _change_ended(self, id: RunId, change: Callable[[Run], Run]) -> tuple[Run, Run]:
        turn = self._turns.setdefault(id, trio.Semaphore(1, max_value=1))
        late = f"the change before this one of run {id} is not durable yet; try again later"
        await self.commits.take(turn, late)
        with ExitStack() as unless_in_line:
            unless_in_line.callback(turn.release)
            before = await self.seen(id)
            if not before.state.terminal:
                raise Unavailable(f"run {id} is just being taken up; try again")
            after = change(before)
            if after == before:
                return before, after
            unless_in_line.pop_all()
        writes = (PutRun(after),)
        enqueue = partial(self.journal.enqueue, writes, may_fail=True)
        # What is late in line is read by nobody yet: until it is settled the next change waits.
        await self.commit(enqueue, settled=turn.release)
        return before, after

    def record(
        self,
        slot: Slot,
        events: Sequence[Event],
        source: Source | None = None,
        *,
        also: Sequence[Write] = (),
        then: Callable[[], None] | None = None,
    ) -> None:
        """Number `events` and put them in line, with `also` in the same commit. `then` is
        called once they are durable. See `Recording`."""
        recording = self.recording()
        recording.add(slot, ((events, source),), also=also, then=then)
        recording.enqueue()

    def recording(self) -> Recording:
        """To record events of several origins or runs at once."""
        return Recording(self._line, self.clock())

    def touch(self, slot: Slot) -> None:
        """Have `visible` called for this slot soon."""
        self._dirty[slot] = None
        self._flag.set()

    def write(self, writes: Sequence[Write]) -> None:
        """Put in line what nobody waits for and what must not be lost."""
        self.journal.enqueue(writes, _nothing)

    def put(self, slot: Slot, done: Done | None = None) -> None:
        """Put the run's row in line; `done` is told as the journal tells."""
        put = partial(self._put, slot, slot.run, done or _nothing)
        self.journal.enqueue((PutRun(slot.written()),), put)
        slot.puts += 1

    def _put(self, slot: Slot, run: Run, done: Done, error: Exception | None) -> None:
        if error is None:
            slot.visible = run
        done(error)
        self.put_done(slot)

    def put_done(self, slot: Slot) -> None:
        """A row of the run that was in line is settled."""
        slot.puts -= 1
        self._let_go(slot)

    def check(self) -> None:
        """See `Commits.check`."""
        self.commits.check()

    @contextmanager
    def using(self, slot: Slot) -> Generator[None]:
        """Keep the slot here meanwhile, though its run may end: a row that is made from it later
        must not overwrite what `change_ended` has made of the run in between."""
        slot.users += 1
        try:
            yield
        finally:
            slot.users -= 1
            self._let_go(slot)

    def _let_go(self, slot: Slot) -> None:
        if slot.visible.state.terminal and not slot.needed:
            self.touch(slot)

    async def commit(
        self, enqueue: Callable[[Done], None], settled: Callable[[], None] | None = None
    ) -> None:
        """See `Commits.commit`."""
        await self.commits.commit(enqueue, settled)

    async def publish(self) -> None:
        """Show what was committed, until cancelled."""
        while True:
            await self._flag.wait()
            self._flag = trio.Event()
            dirty, self._dirty = self._dirty, {}
            for slot in dirty:
                self.passages.mark(slot.run.id, STORED, slot.visible_seq)
                slot.tell()
                self._visible(slot)


def _nothing(error: Exception | None) -> None:
    """Nobody waits for this write."""
