"""The open runs and the line to the journal: numbering, committing, publishing."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import attrs
import trio

from fleetgate.core.errors import IllegalTransition, InvalidArgument, RunNotFound, Unavailable
from fleetgate.core.events import (
    Diagnosed,
    Event,
    Outcome,
    Recorded,
    RunFinished,
    RunState,
    Source,
)
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import (
    Append,
    Done,
    Journal,
    JournalError,
    JournalFailing,
    PutRun,
    RunFilter,
    Write,
)
from fleetgate.core.limits import Limits
from fleetgate.core.run import Run
from fleetgate.core.sequence import acknowledge
from fleetgate.core.slots import Slot
from fleetgate.core.timers import NANOS, Clock

Part: TypeAlias = tuple[Sequence[Event], Source | None]
"""Events of one origin."""


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
        self._visible = visible
        self._changing = trio.Lock()
        self._dirty: dict[Slot, None] = {}
        self._flag = trio.Event()

    async def written(self, id: RunId) -> Run | None:
        """A run with everything that was put in line, open or ended."""
        slot = self.slots.get(id)
        return slot.run if slot is not None else await self._get(id)

    async def _get(self, id: RunId) -> Run | None:
        with readable():
            return await self.journal.get(id)

    async def find(self, which: RunFilter) -> Sequence[Run]:
        """Runs as committed.

        Raises: `Unavailable`.
        """
        with readable():
            return await self.journal.find(which)

    async def seen(self, id: RunId) -> Run:
        """A run as committed, open or ended.

        Raises: `RunNotFound`, `Unavailable`.
        """
        slot = self.slots.get(id)
        run = slot.seen() if slot is not None else await self._get(id)
        if run is None:
            raise RunNotFound(f"no run has the id {id}")
        return run

    async def acknowledge(self, id: RunId, through: int) -> None:
        """The controller has the run's events up to `through`, clamped to the last. Of many
        acknowledgements in a row the journal gets the latest.

        Raises: `RunNotFound`, `Unavailable`.
        """
        slot = self.slots.get(id)
        if slot is not None:
            reached = acknowledge(slot.run.acknowledged, slot.visible_seq, through)
            if reached != slot.run.acknowledged:
                slot.run = attrs.evolve(slot.run, acknowledged=reached)
                self._put_acknowledged(slot)
            return
        await self.change_ended(id, partial(_acknowledged, through))

    async def acknowledge_durably(self, id: RunId, through: int) -> tuple[Run, Run]:
        """As `acknowledge`, and durable when this returns; the run before and behind it.

        Raises: `RunNotFound`, `Unavailable`.
        """
        slot = self.slots.get(id)
        if slot is None:
            return await self.change_ended(id, partial(_acknowledged, through))
        before = slot.seen()
        reached = acknowledge(slot.run.acknowledged, slot.visible_seq, through)
        if reached != slot.run.acknowledged:
            slot.run = attrs.evolve(slot.run, acknowledged=reached)
            await self.commit(partial(self.put, slot))
        return before, slot.seen()

    async def change_ended(self, id: RunId, change: Callable[[Run], Run]) -> tuple[Run, Run]:
        """Change the row of a run that has ended; the run before and behind it. One change at
        a time, so that none is lost: each reads what the one before has committed.

        Raises: `RunNotFound`, `Unavailable`.
        """
        async with self._changing:
            before = await self.seen(id)
            if not before.state.terminal:
                raise Unavailable(f"run {id} is just being taken up; try again")
            after = change(before)
            if after != before:
                writes = (PutRun(after),)
                await self.commit(lambda done: self.journal.enqueue(writes, done, may_fail=True))
            return before, after

    def _put_acknowledged(self, slot: Slot) -> None:
        if slot.acknowledging:
            return
        slot.acknowledging = True
        reached = slot.run.acknowledged

        def done(_: Exception | None) -> None:
            slot.acknowledging = False
            if slot.run.acknowledged != reached:
                self._put_acknowledged(slot)

        self.put(slot, done)

    def check(self) -> None:
        """Refuse new work while commits fail.

        Raises: `Unavailable`.
        """
        failing = self.journal.pressure().failing
        if failing is not None:
            raise Unavailable(f"the journal cannot be written ({failing}); try again later")

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
        called once they are durable. What does not follow from the run's state is recorded as
        a diagnosis in its place, so that a worker's own numbering stays whole. Nothing is
        recorded behind the end (I5)."""
        self.record_parts(slot, ((events, source),), also=also, then=then)

    def record_parts(
        self,
        slot: Slot,
        parts: Sequence[Part],
        *,
        also: Sequence[Write] = (),
        then: Callable[[], None] | None = None,
    ) -> None:
        """As `record`, for events of several origins: in one entry of the journal's line, which
        costs about as much as one event in it."""
        marks = slot.marks()
        try:
            self._enqueue(slot, parts, also, then)
        except ValueError as error:
            slot.reset(marks)
            self._record_singly(slot, parts, also, then, error)

    def _enqueue(
        self,
        slot: Slot,
        parts: Sequence[Part],
        also: Sequence[Write],
        then: Callable[[], None] | None,
    ) -> None:
        now = self.clock()
        before = slot.run
        batch: list[Recorded] = []
        for events, source in parts:
            self._number(slot, events, now, source, batch)
        if not batch:
            return
        recorded = tuple(batch)
        changed = slot.written() if slot.run is not before else None
        append = Append(slot.run.id, recorded, slot.native_seq, changed)
        done = partial(self._appended, slot, recorded, slot.run, slot.native_seq, then)
        self.journal.enqueue((append, *also), done)

    def _record_singly(
        self,
        slot: Slot,
        parts: Sequence[Part],
        also: Sequence[Write],
        then: Callable[[], None] | None,
        error: ValueError,
    ) -> None:
        """The journal cannot hold one of the events (half a surrogate pair, a number beyond 63
        bits). Only that one is replaced, by what says so; a run must end all the same."""
        singles = [((event,), source) for events, source in parts for event in events]
        for at, (events, source) in enumerate(singles, 1):
            rest = (also, then) if at == len(singles) else ((), None)
            marks = slot.marks()
            try:
                self._enqueue(slot, ((events, source),), *rest)
            except ValueError:
                slot.reset(marks)
                said = _unrecordable(events[0], error)
                # What was to be written beside it may be what cannot be held: it is left out.
                self._enqueue(slot, (((said,), source),), (), rest[1])

    def _number(
        self,
        slot: Slot,
        events: Sequence[Event],
        now: int,
        source: Source | None,
        batch: list[Recorded],
    ) -> None:
        numbered = False
        for event in events:
            if slot.run.state.terminal:
                break
            numbered = True
            try:
                batch.append(slot.number(event, now, source))
            except IllegalTransition as error:
                said = Diagnosed(str(error), "illegal_transition")
                batch.append(slot.number(said, now, source))
        if numbered:
            if source is not None and source.seq is not None:
                slot.native_seq = source.seq
            slot.run = _stamped(slot.run, source, now)

    def _appended(
        self,
        slot: Slot,
        batch: tuple[Recorded, ...],
        run: Run,
        native_seq: int,
        then: Callable[[], None] | None,
        error: Exception | None,
    ) -> None:
        if isinstance(error, JournalFailing):
            return  # given up because the journal closes: nothing of it was shown to anyone
        if error is not None:
            raise error  # the journal and we disagree on the run: nothing more may be numbered
        slot.publish(batch, run, native_seq)
        self.touch(slot)
        if then is not None:
            then()

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
        if slot.visible.state.terminal and not slot.puts:
            self.touch(slot)

    async def commit(
        self, enqueue: Callable[[Done], None], settled: Callable[[], None] | None = None
    ) -> None:
        """Let `enqueue` put something in line, and wait until it is durable. `settled` is called
        once nothing of it is open any more, which may be after this has given up waiting.

        Raises: `InvalidArgument`: a journal cannot hold it; `Unavailable`: it was given up, or
        is not durable in time (then it may yet become so). Cancelled, it may or may not
        become durable.
        """
        waiting = _Waiting(settled or _nobody)
        try:
            self.check()
            with trio.move_on_after(self.limits.answer_within / NANOS):
                await self.journal.wait_room()
                waiting.enqueue(enqueue)
                await waiting.answered.wait()
        finally:
            if not waiting.enqueued:
                waiting.settled()
        if waiting.error is not None:
            raise Unavailable(f"the journal cannot be written ({waiting.error}); try again later")
        if not waiting.answered.is_set():
            raise Unavailable("the journal did not commit in time; ask for the run before retrying")

    async def publish(self) -> None:
        """Show what was committed, until cancelled."""
        while True:
            await self._flag.wait()
            self._flag = trio.Event()
            dirty, self._dirty = self._dirty, {}
            for slot in dirty:
                slot.tell()
                self._visible(slot)


@contextmanager
def readable() -> Generator[None, None, None]:
    """What cannot be read now is unavailable."""
    try:
        yield
    except JournalError as error:
        raise Unavailable(f"the journal cannot be read ({error}); try again later") from None


def _unrecordable(event: Event, error: ValueError) -> Event:
    kind = type(event).__name__
    text = f"{kind} could not be recorded ({type(error).__name__}); it holds what no journal can"
    if isinstance(event, RunFinished):
        return RunFinished(Outcome(event.outcome.state, event.outcome.reason, text))
    return Diagnosed(text, "unrecordable")


def _acknowledged(through: int, run: Run) -> Run:
    reached = acknowledge(run.acknowledged, run.last_seq, through)
    return attrs.evolve(run, acknowledged=reached)


def _stamped(run: Run, source: Source | None, now: int) -> Run:
    if source is not None and not run.accepted:
        run = attrs.evolve(run, accepted=True)
    if run.state is RunState.RUNNING and not run.started:
        run = attrs.evolve(run, started=now)
    if run.state.terminal and not run.ended:
        run = attrs.evolve(run, ended=now)
    return run


class _Waiting:
    """Somebody waits for a commit, at least for a while."""

    def __init__(self, settled: Callable[[], None]) -> None:
        self.answered = trio.Event()
        self.enqueued = False
        self.error: Exception | None = None
        self.settled = settled

    def enqueue(self, enqueue: Callable[[Done], None]) -> None:
        try:
            enqueue(self._done)
        except ValueError as error:
            raise InvalidArgument(f"the journal cannot hold this: {error}") from None
        self.enqueued = True

    def _done(self, error: Exception | None) -> None:
        self.error = error
        self.answered.set()
        # Also where `enqueue` answers at once, before it returns.
        self.enqueued = True
        self.settled()


def _nobody() -> None:
    """Nobody has to know."""


def _nothing(error: Exception | None) -> None:
    """Nobody waits for this write."""
