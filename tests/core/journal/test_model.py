"""Both journals against the plainest one: a dict that a write changes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.drawing import examples
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.journal.api import (
    Append,
    Journal,
    JournalConflict,
    MarkOrder,
    OpenOrder,
    OpenRun,
    PutKey,
    PutNote,
    PutOrder,
    PutRun,
    RunFilter,
    Write,
)
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.run import Run
from fleetgate.core.testing import events, outcomes, sources, specs

NAMES = ("a", "b", "c")
KEYS = ("k1", "k2")
LINKS = {"a": "gui", "b": "gui", "c": "cli"}


@attrs.define
class Model:
    """What a journal must answer. A group of writes that contradicts it changes nothing."""

    runs: dict[RunId, Run]
    events: dict[RunId, list[e.Recorded]]
    orders: dict[RunId, dict[OrderNumber, OpenOrder]]
    keys: dict[RunId, dict[str, OrderNumber]]
    notes: dict[tuple[str, str], bytes]

    def copy(self) -> Model:
        return Model(
            dict(self.runs),
            {run: list(found) for run, found in self.events.items()},
            {run: dict(found) for run, found in self.orders.items()},
            {run: dict(found) for run, found in self.keys.items()},
            dict(self.notes),
        )

    def put(self, write: Write) -> bool:
        """Change it as `write` says, unless that contradicts it."""
        match write:
            case PutRun(run):
                known = self.runs.get(run.id)
                self.runs[run.id] = run
                return run.last_seq == (known.last_seq if known else 0)
            case Append():
                return self.append(write)
            case PutOrder(order):
                self.orders.setdefault(order.run, {})[order.number] = OpenOrder(order, False)
                return order.run in self.runs
            case PutKey(run, key, key_number):
                keys = self.keys.setdefault(run, {})
                keys.pop(key, None)
                if key_number is not None:
                    keys[key] = key_number
                return run in self.runs
            case MarkOrder(run, number, settled):
                open_orders = self.orders.get(run, {})
                if number in open_orders:
                    open_orders[number] = attrs.evolve(open_orders[number], sent=True)
                if settled:
                    open_orders.pop(number, None)
            case PutNote(space, key, value):
                self.notes.pop((space, key), None)
                if value is not None:
                    self.notes[space, key] = value
        return True

    def append(self, write: Append) -> bool:
        found = self.events.setdefault(write.id, [])
        run = self.runs.get(write.id)
        if run is None or run.state.terminal or write.events[0].seq != len(found) + 1:
            return False
        found.extend(write.events)
        self.runs[write.id] = attrs.evolve(
            write.run or run, last_seq=write.events[-1].seq, native_seq=write.native_seq
        )
        return True

    def find(self, which: RunFilter) -> list[Run]:
        return [
            run
            for _, run in sorted(self.runs.items())
            if which.link in (None, run.origin.link)
            and not (which.open_only and run.state.terminal)
            and not (
                which.unacknowledged and run.state.terminal and run.acknowledged >= run.last_seq
            )
        ]

    def open_runs(self) -> list[OpenRun]:
        found = [run for run in self.runs.values() if not run.state.terminal]
        return [
            OpenRun(
                run,
                tuple(o for _, o in sorted(self.orders.get(run.id, {}).items())),
                self.keys.get(run.id, {}),
            )
            for run in sorted(found, key=lambda run: run.created)
        ]


# --- what is done, drawn without knowing what it meets

names = st.sampled_from(NAMES)
numbers = st.integers(0, 3)


@attrs.frozen
class StartOrChange:
    """Put a run: new, or as it is with another spec, and off by `off` events."""

    name: str
    spec: c.RunSpec
    acknowledged: int
    off: int = 0


@attrs.frozen
class Record:
    """Append events after the last one, and off by `off`."""

    name: str
    events: Sequence[e.Event]
    source: e.Source | None
    off: int = 0
    end: e.Outcome | None = None
    whole: bool = False


Action: TypeAlias = StartOrChange | Record | PutOrder | PutKey | MarkOrder | PutNote


def put_order(name: str, number: int) -> PutOrder:
    run = RunId(name)
    return PutOrder(c.Order(run, OrderNumber(number), c.CloseInput(run), number, number))


usually_a = st.sampled_from("aaabbc")  # of which `c` is not there at first
rarely_ended = st.none() | st.none() | st.none() | outcomes()
rarely_off = st.sampled_from([0] * 14 + [1, -1])
actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(StartOrChange, names, specs(), numbers, rarely_off),
    st.builds(
        Record,
        usually_a,
        st.lists(events(), min_size=1, max_size=3),
        st.none() | sources(),
        rarely_off,
        rarely_ended,
        st.booleans(),
    ),
    st.builds(put_order, usually_a, numbers),
    st.builds(
        PutKey,
        usually_a.map(RunId),
        st.sampled_from(KEYS),
        st.none() | numbers.map(OrderNumber),
    ),
    st.builds(MarkOrder, names.map(RunId), numbers.map(OrderNumber), st.booleans()),
    st.builds(
        PutNote, st.sampled_from("xy"), st.sampled_from("pq"), st.none() | st.binary(max_size=4)
    ),
)
known = st.tuples(
    *(st.builds(StartOrChange, st.just(name), specs(), st.just(0)) for name in "ab")
).map(list)
scripts = st.tuples(
    known, st.lists(st.lists(actions, min_size=1, max_size=3), min_size=1, max_size=12)
).map(lambda parts: [parts[0], *parts[1]])


def write_of(action: Action, model: Model) -> Write:
    """The write that an action is, on a journal that stands as the model does."""
    match action:
        case StartOrChange(name, spec, acknowledged, off):
            fresh = Run(RunId(name), spec, c.Origin(LINKS[name], name), created=ord(name))
            run = model.runs.get(RunId(name), fresh)
            last = Seq(max(0, run.last_seq + off))
            return PutRun(
                attrs.evolve(run, spec=spec, last_seq=last, acknowledged=Seq(acknowledged))
            )
        case Record():
            return append_of(action, model)
        case _:
            return action


def append_of(action: Record, model: Model) -> Append:
    id = RunId(action.name)
    run = model.runs.get(id)
    first = max(1, (run.last_seq if run else 0) + 1 + action.off)
    recorded = tuple(
        e.Recorded(id, Seq(first + at), at, event, action.source)
        for at, event in enumerate(action.events)
    )
    after = None
    if run is not None and (action.whole or action.end is not None):
        after = attrs.evolve(run, model="m", inputs=run.inputs + 1)
        if action.end is not None:
            after = attrs.evolve(after, state=action.end.state, outcome=action.end, ended=7)
    return Append(id, recorded, first, after)


Open: TypeAlias = Callable[[], AbstractAsyncContextManager[Journal]]


async def play(open_journal: Open, script: list[list[Action]], reopen: frozenset[int]) -> None:
    model, at = Model({}, {}, {}, {}, {}), 0
    while at < len(script):
        async with open_journal() as journal:
            await compare(journal, model)
            while at < len(script):
                model = await perform(journal, model, script[at])
                at += 1
                if at in reopen:
                    break
            await compare(journal, model)


async def perform(journal: Journal, model: Model, group: list[Action]) -> Model:
    after, writes, legal = model.copy(), list[Write](), True
    for action in group:
        writes.append(write_of(action, after))
        legal = after.put(writes[-1]) and legal
    if legal:
        await journal.commit(writes)
        return after
    with pytest.raises(JournalConflict):
        await journal.commit(writes)
    return model


async def compare(journal: Journal, model: Model) -> None:
    for name in NAMES:
        run = RunId(name)
        assert await journal.get(run) == model.runs.get(run)
        kept = model.events.get(run, [])
        for after in (0, 1, len(kept)):
            found = await journal.read(run, Seq(after), items=2, size=1 << 20)
            assert list(found) == kept[after : after + 2]
    for which in (RunFilter(), RunFilter("gui", unacknowledged=True), RunFilter(open_only=True)):
        assert list(await journal.find(which)) == model.find(which)
    assert list(await journal.open_runs()) == model.open_runs()
    for name, key in product(NAMES, KEYS):
        run = RunId(name)
        assert await journal.knows(run, key) == (key in model.keys.get(run, {}))
    for space in "xy":
        wanted = {key: value for (at, key), value in model.notes.items() if at == space}
        assert await journal.notes(space) == wanted


@settings(max_examples=examples(40))
@given(scripts)
def test_memory_is_as_the_model(script: list[list[Action]]) -> None:
    trio.run(play, open_memory_journal, script, frozenset[int]())


@settings(max_examples=examples(25))
@given(scripts, st.frozensets(st.integers(1, 12), max_size=3))
def test_sqlite_is_as_the_model_however_often_opened(
    script: list[list[Action]], reopen: frozenset[int]
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "journal.db")
        trio.run(play, lambda: open_sqlite_journal(path), script, reopen)
