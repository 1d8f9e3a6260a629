"""Recording events of runs: numbering them, and putting them in line for the journal together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import attrs

from fleetgate.core.errors import IllegalTransition
from fleetgate.core.events import Diagnosed, Event, Outcome, Recorded, RunFinished, RunState, Source
from fleetgate.core.journal.api import Append, Done, Journal, JournalFailing, Write
from fleetgate.core.run import Run, stamped
from fleetgate.core.slots import Marks, Slot

Part: TypeAlias = tuple[Sequence[Event], Source | None]
"""Events of one origin."""

Then: TypeAlias = Callable[[], None]
"""Called once what was recorded is durable and shown; never where the journal gave it up."""


@attrs.frozen(slots=True, eq=False)
class Line:
    """What stands behind a recording: the journal, whom to tell of a slot that has news, and how a
    slot's row is put in line."""

    journal: Journal
    touch: Callable[[Slot], None]
    put: Callable[[Slot, Done], None]


@attrs.frozen(slots=True, eq=False)
class _Given:
    """What `add` was given of a slot, and where its numbering stood."""

    slot: Slot
    parts: Sequence[Part]
    also: Sequence[Write]
    then: Then | None
    plain: bool
    marks: Marks


@attrs.frozen(slots=True, eq=False)
class _Shown:
    """What is shown of a slot once it is durable."""

    slot: Slot
    events: tuple[Recorded, ...]
    run: Run
    native_seq: int
    then: Then | None


class Recording:
    """Events of any number of runs in one entry of the journal's line, which costs about as much
    as one event in it. They are numbered as they are added, so nothing else may be put in line
    before `enqueue`. What does not follow from its run's state is recorded as a diagnosis in its
    place, so that a worker's own numbering stays whole. Nothing is recorded behind an end (I5)."""

    __slots__ = ("_given", "_line", "_moved", "_now", "_shown", "_writes")

    def __init__(self, line: Line, now: int) -> None:
        self._line = line
        self._now = now
        self._given: list[_Given] = []
        self._writes: list[Write] = []
        self._shown: list[_Shown] = []
        self._moved: list[Slot] = []

    def add(
        self,
        slot: Slot,
        parts: Sequence[Part],
        *,
        also: Sequence[Write] = (),
        then: Then | None = None,
        plain: bool = False,
    ) -> None:
        """Number the events of `parts`. `also` is written in the same commit; `then` is called
        once they are durable. `plain`: they say no more than that a run at work is at work."""
        self._given.append(_Given(slot, parts, also, then, plain, slot.marks()))
        before, native_before = slot.run, slot.native_seq
        events: list[Recorded] = []
        if plain and before.state is RunState.RUNNING and before.accepted and before.started:
            slot.number_plain(parts, self._now, events)
        else:
            for some, source in parts:
                _number(slot, some, self._now, source, events)
        if events:
            recorded = tuple(events)
            changed = slot.written() if slot.run is not before else None
            self._writes.append(Append(slot.run.id, recorded, slot.native_seq, changed))
            self._writes += also
            self._shown.append(_Shown(slot, recorded, slot.run, slot.native_seq, then))
        elif slot.native_seq != native_before:
            self._moved.append(slot)

    def enqueue(self) -> None:
        """Put in line what was added. Where the journal cannot hold one of the events, only that
        one is replaced, by what says so."""
        error = self._enqueue()
        if error is None:
            return
        if len(self._given) == 1:
            self._record_singly(self._given[0], error)
            return
        for given in self._given:
            again = self._again()
            again.add(given.slot, given.parts, also=given.also, then=given.then, plain=given.plain)
            again.enqueue()

    def _again(self) -> Recording:
        return Recording(self._line, self._now)

    def _enqueue(self) -> ValueError | None:
        """Why it cannot be put in line; then no number is given. None: it is."""
        if self._writes:
            try:
                done = partial(_durable, self._shown, self._line.touch)
                self._line.journal.enqueue(self._writes, done)
            except ValueError as error:
                for given in reversed(self._given):
                    given.slot.reset(given.marks)
                return error
        for slot in self._moved:
            self._line.put(slot, partial(_move, slot, slot.native_seq, self._line.touch))
        return None

    def _record_singly(self, given: _Given, error: ValueError) -> None:
        """The journal cannot hold one of the events (half a surrogate pair, a number beyond 63
        bits). Only that one is replaced, by what says so; a run must end all the same."""
        singles = [((event,), source) for events, source in given.parts for event in events]
        for at, (events, source) in enumerate(singles, 1):
            last = at == len(singles)
            also, then = (given.also, given.then) if last else ((), None)
            said = (_unrecordable(events[0], error),)
            # What is to be written beside the last one may be what cannot be held.
            for instead, beside in ((events, also), (events, ()), (said, also), (said, ())):
                again = self._again()
                again.add(given.slot, ((instead, source),), also=beside, then=then)
                if again._enqueue() is None:
                    break


def _number(
    slot: Slot, events: Sequence[Event], now: int, source: Source | None, into: list[Recorded]
) -> None:
    if slot.run.state.terminal:
        return
    if events:
        source = slot.timed(source, now)
    elif source is not None and source.seq is not None:
        slot.native_seq = source.seq
    numbered = False
    for event in events:
        if slot.run.state.terminal:
            break
        numbered = True
        try:
            into.append(slot.number(event, now, source))
        except IllegalTransition as error:
            said = Diagnosed(str(error), "illegal_transition")
            into.append(slot.number(said, now, source))
    if numbered:
        if source is not None and source.seq is not None:
            slot.native_seq = source.seq
        slot.run = stamped(slot.run, now, heard=source is not None)


def _durable(
    shown: Sequence[_Shown], touch: Callable[[Slot], None], error: Exception | None
) -> None:
    if isinstance(error, JournalFailing):
        return  # given up because the journal closes: nothing of it was shown to anyone
    if error is not None:
        raise error  # the journal and we disagree on a run: nothing more may be numbered
    for each in shown:
        each.slot.publish(each.events, each.run, each.native_seq)
        touch(each.slot)
        if each.then is not None:
            each.then()


def _move(
    slot: Slot, native_seq: int, touch: Callable[[Slot], None], error: Exception | None
) -> None:
    """What the worker has numbered and is no event here must not be asked for again."""
    if error is None:
        slot.visible_native = max(slot.visible_native, native_seq)
        touch(slot)


def _unrecordable(event: Event, error: ValueError) -> Event:
    kind = type(event).__name__
    text = f"{kind} could not be recorded ({type(error).__name__}); it holds what no journal can"
    if isinstance(event, RunFinished):
        return RunFinished(Outcome(event.outcome.state, event.outcome.reason, text))
    return Diagnosed(text, "unrecordable")
