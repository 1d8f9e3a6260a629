"""What every journal must do, as a check to run against one.

`check_journal` proves an implementation by what it shows through `Journal`;
`check_failing` proves what it does while it cannot commit. Both need an `open_journal`
that gives an empty journal for a name it has not seen, and opens the same one again
for a name it has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.journal.api import (
    Append,
    Journal,
    JournalConflict,
    JournalError,
    JournalFailing,
    MarkOrder,
    OpenOrder,
    OpenRun,
    PutNote,
    PutOrder,
    PutRun,
    RunFilter,
    Write,
)
from fleetgate.core.run import Run

OpenJournal: TypeAlias = Callable[[str], AbstractAsyncContextManager[Journal]]
Check: TypeAlias = Callable[[OpenJournal], Awaitable[None]]
Fail: TypeAlias = Callable[[bool], None]
"""Let commits of every journal that is open fail from now on, or succeed again."""

EVERYTHING: Final = 1 << 30


def make_run(name: str, link: str = "gui", created: int = 1) -> Run:
    """A new run of the entry `link`."""
    spec = c.RunSpec(c.Prompt("say hello"), labels={"team": "a"})
    return Run(RunId(f"{link}/{name}"), spec, c.Origin(link, name), created)


def make_events(run: RunId, first: int, count: int, size: int = 5) -> tuple[e.Recorded, ...]:
    """`count` events of `run`, numbered from `first`; the text of each says which it is."""
    return tuple(
        e.Recorded(
            run,
            Seq(seq),
            1_000 + seq,
            e.TextProduced(f"{run} {seq} ".ljust(size, "x")),
            e.Source(Epoch(1), seq),
        )
        for seq in range(first, first + count)
    )


def make_order(run: RunId, number: int) -> c.Order:
    """An input on its way to the worker of `run`."""
    return c.Order(run, OrderNumber(number), c.SendInput(run, b"yes", newline=True), input=number)


def ended(run: Run, last_seq: int, acknowledged: int = 0) -> Run:
    """`run` behind its last event."""
    return attrs.evolve(
        run,
        state=e.RunState.SUCCEEDED,
        outcome=e.Outcome(e.RunState.SUCCEEDED, e.Reason.EXITED, exit_code=0),
        last_seq=Seq(last_seq),
        acknowledged=Seq(acknowledged),
        ended=run.created + 10,
    )


class Answers:
    """What `done` was called with, in order, by the label of each enqueue."""

    def __init__(self) -> None:
        self.came: list[tuple[str, Exception | None]] = []
        self._news = trio.Event()

    def done(self, label: str) -> Callable[[Exception | None], None]:
        """A `Done` that notes its answer under `label`."""

        def note(error: Exception | None) -> None:
            self.came.append((label, error))
            self._news.set()
            self._news = trio.Event()

        return note

    async def wait(self, count: int) -> None:
        """Wait until `count` answers have come."""
        while len(self.came) < count:
            await self._news.wait()


async def check_journal(open_journal: OpenJournal, *, durable: bool = True) -> None:
    """Prove a journal. `durable`: opened again, it holds what it held.

    Raises: `AssertionError`, with what was expected and what came.
    """
    for check in CHECKS:
        await check(open_journal)
    await (check_reopened if durable else check_forgotten)(open_journal)


async def check_answers(open_journal: OpenJournal) -> None:
    """Answers come in the order of the writes, later than `enqueue`, and after the commit."""
    async with open_journal("answers") as journal:
        run, answers = make_run("a"), Answers()
        journal.enqueue([PutRun(run)], answers.done("run"))
        for event in make_events(run.id, 1, 300):
            journal.enqueue([Append(run.id, (event,), event.seq)], answers.done(str(event.seq)))
        _same(answers.came, [], "answers from within enqueue")
        pressure = journal.pressure()
        _true(pressure.items >= 301 and pressure.size > 300 * 5, f"a full queue, {pressure}")
        await answers.wait(301)
        labels = ["run", *map(str, range(1, 301))]
        _same(answers.came, [(label, None) for label in labels], "answers")
        _same((journal.pressure().items, journal.pressure().size), (0, 0), "an empty queue")
        _same(len(await _all(journal, run.id)), 300, "events as soon as they are answered")


async def check_reading(open_journal: OpenJournal) -> None:
    """A read gives what follows its cursor, within its bounds, and never nothing for want of
    room."""
    async with open_journal("reading") as journal:
        run, other = make_run("a"), make_run("b")
        events = make_events(run.id, 1, 20, 1_000)
        await journal.commit([PutRun(run), PutRun(other), Append(run.id, events, 20)])
        await journal.commit([Append(other.id, make_events(other.id, 1, 3), 3)])

        async def read(after: int, items: int = EVERYTHING, size: int = EVERYTHING) -> list[int]:
            found = await journal.read(run.id, Seq(after), items=items, size=size)
            _same(tuple(found), events[after : after + len(found)], f"events after {after}")
            return [recorded.seq for recorded in found]

        _same(await read(0), list(range(1, 21)), "all events")
        _same(await read(7, items=3), [8, 9, 10], "three events after the seventh")
        _same(await read(20), [], "events after the last")
        _same(await read(99), [], "events far after the last")
        _same(await read(19, size=1), [20], "one event, too large for the bound")
        several = await read(0, size=5_000)
        _true(1 < len(several) <= 5, f"up to 5000 bytes of events, {several}")
        _same(await _all(journal, RunId("no/run")), (), "no run's events")


async def check_one_sequence(open_journal: OpenJournal) -> None:
    """I1, I5: what is not a run's next event, or comes behind its end, is refused with all
    that was enqueued with it, and nothing else is."""
    async with open_journal("one_sequence") as journal:
        run, gone, answers = make_run("a"), make_run("gone"), Answers()
        known, strange = run.id, RunId("no/run")
        wrong: dict[str, Write] = {
            "again": Append(known, make_events(known, 2, 1), 2),
            "too far": Append(known, make_events(known, 4, 1), 4),
            "unknown": Append(strange, make_events(strange, 1, 1), 1),
            "moved": PutRun(attrs.evolve(run, last_seq=Seq(7))),
            "new but not at 0": PutRun(attrs.evolve(make_run("z"), last_seq=Seq(1))),
            "order": PutOrder(make_order(strange, 1)),
            "ended": Append(gone.id, make_events(gone.id, 2, 1), 2),
            "ended again": Append(gone.id, make_events(gone.id, 2, 1), 2, ended(gone, 2)),
        }
        await _end(journal, gone, acknowledged=0)
        await journal.commit([PutRun(run), Append(known, make_events(known, 1, 2), 2)])
        for label, write in wrong.items():
            group: list[Write] = [PutNote("wrong", label, b""), write]
            journal.enqueue(group, answers.done(label))
        journal.enqueue([Append(known, make_events(known, 3, 1), 3)], answers.done("next"))
        await answers.wait(len(wrong) + 1)
        _same([label for label, _ in answers.came], [*wrong, "next"], "answers in order")
        for label, error in answers.came[:-1]:
            _true(isinstance(error, JournalConflict), f"a JournalConflict for {label}, {error!r}")
        _same(answers.came[-1], ("next", None), "the right append's answer")
        _same(await journal.notes("wrong"), {}, "notes enqueued with what was refused")
        _same(await _all(journal, known), make_events(known, 1, 3), "the one sequence")
        _same([found.id for found in await journal.find(RunFilter())], [known, gone.id], "runs")


async def check_refused_values(open_journal: OpenJournal) -> None:
    """What cannot be kept fails its own call, before anything is in line."""
    async with open_journal("refused_values") as journal:
        run, answers = make_run("a"), Answers()
        await journal.commit([PutRun(run)])
        event = make_events(run.id, 1, 1)[0]
        wrong: dict[str, Write] = {
            "nothing": Append(run.id, (), 0),
            "a gap within": Append(run.id, (event, attrs.evolve(event, seq=Seq(3))), 3),
            "another run's": Append(run.id, (attrs.evolve(event, run=RunId("b")),), 1),
            "a large number": Append(run.id, (event,), 1 << 63),
            "a negative number": Append(run.id, (event,), -1),
            "a lone surrogate": PutNote("space", "\ud800", b""),
            "a large note": PutNote("space", "key", bytes(64 * 1024 + 1)),
        }
        for label, write in wrong.items():
            try:
                journal.enqueue([PutNote("wrong", "a", b""), write], answers.done(label))
            except ValueError:
                continue
            raise AssertionError(f"{label}: expected a ValueError")
        await journal.commit([Append(run.id, (event,), 1)])
        _same(answers.came, [], "answers to what was never in line")
        _same(await journal.notes("wrong"), {}, "notes that came with what was refused")


async def check_runs(open_journal: OpenJournal) -> None:
    """A run is found as it was last written, with the numbers that appends moved."""
    async with open_journal("runs") as journal:
        run = make_run("a")
        _same(await journal.get(run.id), None, "a run that is not there")
        await journal.commit([PutRun(run)])
        _same(await journal.get(run.id), run, "a new run")
        await journal.commit([Append(run.id, make_events(run.id, 1, 4), 9)])
        moved = attrs.evolve(run, last_seq=Seq(4), native_seq=9)
        _same(await journal.get(run.id), moved, "the run with its numbers moved")
        working = attrs.evolve(
            moved,
            state=e.RunState.WAITING,
            worker=WorkerId("hosts/h1"),
            epoch=Epoch(3),
            approvals=("x",),
            usage=e.UsageReported(1, None, {"tokens": 2**53 + 1, "cost": 1.0}),
            routed=attrs.evolve(run.spec, input=c.ShellCommand(argv=("true",))),
            last_seq=Seq(5),
        )
        await journal.commit([Append(run.id, make_events(run.id, 5, 1), 9, working)])
        _same(await journal.get(run.id), working, "the run that came with an append")
        supplied = attrs.evolve(working, spec=attrs.evolve(run.spec, input=c.Prompt("more")))
        await journal.commit([PutRun(attrs.evolve(supplied, notes={"at": [1, "x"]}))])
        noted = attrs.evolve(supplied, notes={"at": [1, "x"]})
        _same(await journal.get(run.id), noted, "the run with another spec and a note")
        _same(list(await journal.find(RunFilter())), [noted], "the same run, listed")


async def check_filters(open_journal: OpenJournal) -> None:
    """Runs are listed by entry, by whether they are open, by whether they are acknowledged;
    in byte order, which is not UTF-16 order."""
    async with open_journal("filters") as journal:
        names = ["b", "a", "\uffff", "\U00010000", "é"]
        for name in names:
            await journal.commit([PutRun(make_run(name))])
        await _end(journal, make_run("told"), acknowledged=1)
        await _end(journal, make_run("untold"), acknowledged=0)
        await journal.commit([PutRun(make_run("c", "cli"))])

        async def find(which: RunFilter) -> list[str]:
            return [run.id.removeprefix("gui/") for run in await journal.find(which)]

        working = ["a", "b", "é", "\uffff", "\U00010000"]
        everything = ["cli/c", "a", "b", "told", "untold", *working[2:]]
        _same(await find(RunFilter()), everything, "every run")
        _same(await find(RunFilter("gui", open_only=True)), working, "open runs of an entry")
        pending = ["a", "b", "untold", *working[2:]]
        _same(await find(RunFilter("gui", unacknowledged=True)), pending, "runs not acknowledged")
        _same(await find(RunFilter("cli")), ["cli/c"], "runs of another entry")
        _same(await find(RunFilter("none")), [], "runs of no entry")


async def check_orders(open_journal: OpenJournal) -> None:
    """An order is kept until it is settled, its key as long as the run is open."""
    async with open_journal("orders") as journal:
        late, early = make_run("late", created=9), make_run("early", created=5)
        await _end(journal, make_run("gone"), acknowledged=0)
        await journal.commit([PutRun(late), PutRun(early)])
        orders = [make_order(early.id, number) for number in range(1, 5)]
        await journal.commit([PutOrder(order, f"key {order.number}") for order in orders])
        await journal.commit([PutOrder(make_order(late.id, 1))])
        await journal.commit(
            [
                MarkOrder(early.id, OrderNumber(2), settled=False),
                MarkOrder(early.id, OrderNumber(3), settled=False),
                MarkOrder(early.id, OrderNumber(3), settled=True),
                MarkOrder(early.id, OrderNumber(1), settled=True),
                MarkOrder(early.id, OrderNumber(99), settled=True),
                MarkOrder(RunId("no/run"), OrderNumber(1), settled=True),
                MarkOrder(late.id, OrderNumber(1), settled=False),
                PutOrder(make_order(late.id, 1)),
            ]
        )
        left = (OpenOrder(orders[1], True), OpenOrder(orders[3], False))
        keys = {f"key {order.number}": order.number for order in orders}
        wanted = [
            OpenRun(early, left, keys),
            OpenRun(late, (OpenOrder(make_order(late.id, 1), False),), {}),
        ]
        _same(list(await journal.open_runs()), wanted, "open runs, the oldest first")


async def check_notes(open_journal: OpenJournal) -> None:
    """A note is the last value put, until it is forgotten; spaces do not see each other."""
    async with open_journal("notes") as journal:
        await journal.commit(
            [PutNote("a", "x", b"1"), PutNote("a", "y", b""), PutNote("b", "x", b"2")]
        )
        _same(await journal.notes("a"), {"x": b"1", "y": b""}, "notes")
        await journal.commit([PutNote("a", "x", b"3"), PutNote("a", "y", None)])
        _same(await journal.notes("a"), {"x": b"3"}, "notes, one replaced, one forgotten")
        _same(await journal.notes("b"), {"x": b"2"}, "notes of another space")
        _same(await journal.notes("none"), {}, "notes of no space")


async def check_room(open_journal: OpenJournal) -> None:
    """The queue takes whatever is enqueued; `wait_room` waits for those that can wait."""
    async with open_journal("room") as journal:
        run, answers = make_run("a"), Answers()
        journal.enqueue([PutRun(run)], answers.done("run"))
        await journal.wait_room()
        first, count = 1, 0
        while journal.pressure().size < 64 << 20:
            events = make_events(run.id, first, 64, e.MAX_BODY)
            journal.enqueue([Append(run.id, events, 0)], answers.done(str(first)))
            first, count = first + 64, count + 1
        with trio.CancelScope() as scope:
            scope.cancel()
            await journal.wait_room()
        _true(scope.cancelled_caught, "a wait for room that can be cancelled")
        await journal.wait_room()
        _true(journal.pressure().size < 64 << 20, "room, once the wait for it is over")
        await answers.wait(count + 1)


async def check_leaving(open_journal: OpenJournal) -> None:
    """Leaving commits what is in line, even where the body is cancelled."""
    answers = Answers()
    with trio.CancelScope() as scope:
        async with open_journal("leaving") as journal:
            journal.enqueue([PutNote("a", "x", b"1")], answers.done("note"))
            scope.cancel()
            await trio.lowlevel.checkpoint()
    _same(answers.came, [("note", None)], "answers behind the end")
    try:
        async with open_journal("left by an error"):
            raise KeyError("the body's own")
    except KeyError as error:
        _same(error.args, ("the body's own",), "the body's own error, in no group")


async def check_closed(open_journal: OpenJournal) -> None:
    """A journal that was left takes no writes."""
    answers = Answers()
    async with open_journal("closed") as journal:
        pass
    try:
        journal.enqueue([PutNote("a", "x", b"1")], answers.done("late"))
    except JournalError:
        return
    raise AssertionError("a closed journal took a write")


CHECKS: Final[Sequence[Check]] = (
    check_answers,
    check_reading,
    check_one_sequence,
    check_refused_values,
    check_runs,
    check_filters,
    check_orders,
    check_notes,
    check_room,
    check_leaving,
    check_closed,
)
"""What every journal passes, one by one: for a test that shows which one failed."""


async def check_reopened(open_journal: OpenJournal) -> None:
    """Opened again, a journal holds what it held, and goes on from there."""
    run = make_run("a")
    async with open_journal("reopened") as journal:
        await journal.commit(
            [PutRun(run), PutOrder(make_order(run.id, 1), "k"), PutNote("a", "x", b"1")]
        )
        await journal.commit([Append(run.id, make_events(run.id, 1, 3), 3)])
        before = (list(await journal.open_runs()), await journal.notes("a"))
    async with open_journal("reopened") as journal:
        _same((list(await journal.open_runs()), await journal.notes("a")), before, "what was kept")
        await journal.commit([Append(run.id, make_events(run.id, 4, 1), 4)])
        _same(await _all(journal, run.id), make_events(run.id, 1, 4), "one sequence")


async def check_forgotten(open_journal: OpenJournal) -> None:
    """Opened again, a journal that is not durable is empty."""
    async with open_journal("forgotten") as journal:
        await journal.commit([PutRun(make_run("a"))])
    async with open_journal("forgotten") as journal:
        _same(list(await journal.find(RunFilter())), [], "runs of a new journal")


async def check_failing(open_journal: OpenJournal, fail: Fail) -> None:
    """While commits fail: what may fail is answered soon, the rest waits in order and is
    committed once that works again; nothing needs a restart.

    Raises: `AssertionError`.
    """
    run, answers = make_run("a"), Answers()
    async with open_journal("failing") as journal:
        await journal.commit([PutRun(run)])
        fail(True)
        events = make_events(run.id, 1, 3)
        journal.enqueue([Append(run.id, events[:1], 1)], answers.done("one"))
        await _refused(journal, [PutNote("a", "x", b"1")])
        journal.enqueue([Append(run.id, events[1:], 3)], answers.done("two"))
        await _refused(journal, [PutNote("a", "y", b"1")])
        _true(bool(journal.pressure().failing), "a reason while it fails")
        _same(answers.came, [], "answers while it fails")
        fail(False)
        await answers.wait(2)
        _same(answers.came, [("one", None), ("two", None)], "answers once it works again")
        _same(journal.pressure().failing, None, "the reason once it works again")
        _same(await _all(journal, run.id), events, "what waited")
        _same(await journal.notes("a"), {}, "what was given up")
        fail(True)
        journal.enqueue([PutNote("a", "z", b"1")], answers.done("last"))
    label, error = answers.came[-1]
    _true(label == "last" and isinstance(error, JournalFailing), f"given up, {answers.came[-1]}")


async def _refused(journal: Journal, writes: Sequence[Write]) -> None:
    try:
        await journal.commit(writes)
    except JournalFailing:
        return
    raise AssertionError("a commit of what may fail succeeded on a failing journal")


async def _end(journal: Journal, run: Run, acknowledged: int) -> None:
    last = ended(run, 1, acknowledged)
    await journal.commit([PutRun(run), Append(run.id, make_events(run.id, 1, 1), 0, last)])


async def _all(journal: Journal, run: RunId) -> tuple[e.Recorded, ...]:
    return tuple(await journal.read(run, Seq(0), items=EVERYTHING, size=EVERYTHING))


def _same(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


def _true(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(f"expected {what}")
