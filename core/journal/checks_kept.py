"""What every journal must keep and give back: checks of `check_journal`."""

from __future__ import annotations

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.journal.api import (
    Append,
    ForgetRun,
    FreeForgotten,
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
from fleetgate.core.journal.samples import (
    EVERYTHING,
    Answers,
    OpenJournal,
    all_events,
    end_run,
    ended,
    make_events,
    make_order,
    make_run,
    same,
    true,
)
from fleetgate.core.run import Run


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
            same(tuple(found), events[after : after + len(found)], f"events after {after}")
            return [recorded.seq for recorded in found]

        same(await read(0), list(range(1, 21)), "all events")
        same(await read(7, items=3), [8, 9, 10], "three events after the seventh")
        same(await read(20), [], "events after the last")
        same(await read(99), [], "events far after the last")
        same(await read(19, size=1), [20], "one event, too large for the bound")
        several = await read(0, size=5_000)
        true(1 < len(several) <= 5, f"up to 5000 bytes of events, {several}")
        same(await all_events(journal, RunId("no/run")), (), "no run's events")


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
            "key": PutKey(strange, "key", OrderNumber(1)),
            "ended": Append(gone.id, make_events(gone.id, 2, 1), 2),
            "ended again": Append(gone.id, make_events(gone.id, 2, 1), 2, ended(gone, 2)),
        }
        await end_run(journal, gone, acknowledged=0)
        await journal.commit([PutRun(run), Append(known, make_events(known, 1, 2), 2)])
        for label, write in wrong.items():
            group: list[Write] = [PutNote("wrong", label, b""), write]
            journal.enqueue(group, answers.done(label))
        journal.enqueue([Append(known, make_events(known, 3, 1), 3)], answers.done("next"))
        await answers.wait(len(wrong) + 1)
        same([label for label, _ in answers.came], [*wrong, "next"], "answers in order")
        for label, error in answers.came[:-1]:
            true(isinstance(error, JournalConflict), f"a JournalConflict for {label}, {error!r}")
        same(answers.came[-1], ("next", None), "the right append's answer")
        same(await journal.notes("wrong"), {}, "notes enqueued with what was refused")
        same(await all_events(journal, known), make_events(known, 1, 3), "the one sequence")
        same([found.id for found in await journal.find(RunFilter())], [known, gone.id], "runs")


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
        same(answers.came, [], "answers to what was never in line")
        same(await journal.notes("wrong"), {}, "notes that came with what was refused")


async def check_runs(open_journal: OpenJournal) -> None:
    """A run is found as it was last written, with the numbers that appends moved."""
    async with open_journal("runs") as journal:
        run = make_run("a")
        same(await journal.get(run.id), None, "a run that is not there")
        await journal.commit([PutRun(run)])
        same(await journal.get(run.id), run, "a new run")
        await journal.commit([Append(run.id, make_events(run.id, 1, 4), 9)])
        moved = attrs.evolve(run, last_seq=Seq(4), native_seq=9)
        same(await journal.get(run.id), moved, "the run with its numbers moved")
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
        same(await journal.get(run.id), working, "the run that came with an append")
        supplied = attrs.evolve(working, spec=attrs.evolve(run.spec, input=c.Prompt("more")))
        await journal.commit([PutRun(attrs.evolve(supplied, notes={"at": [1, "x"]}))])
        noted = attrs.evolve(supplied, notes={"at": [1, "x"]})
        same(await journal.get(run.id), noted, "the run with another spec and a note")
        same(list(await journal.find(RunFilter())), [noted], "the same run, listed")


async def check_filters(open_journal: OpenJournal) -> None:
    """Runs are listed by entry, by whether they are open, by whether they are acknowledged;
    in byte order, which is not UTF-16 order."""
    async with open_journal("filters") as journal:
        names = ["b", "a", "\uffff", "\U00010000", "é"]
        for name in names:
            await journal.commit([PutRun(make_run(name))])
        await end_run(journal, make_run("told"), acknowledged=1)
        await end_run(journal, make_run("untold", created=2), acknowledged=0)
        await journal.commit([PutRun(make_run("c", "cli"))])

        async def find(which: RunFilter) -> list[str]:
            return [run.id.removeprefix("gui/") for run in await journal.find(which)]

        working = ["a", "b", "é", "\uffff", "\U00010000"]
        everything = ["cli/c", "a", "b", "told", "untold", *working[2:]]
        same(await find(RunFilter()), everything, "every run")
        same(await find(RunFilter("gui", open_only=True)), working, "open runs of an entry")
        pending = ["a", "b", "untold", *working[2:]]
        same(await find(RunFilter("gui", unacknowledged=True)), pending, "runs not acknowledged")
        same(await find(RunFilter("cli")), ["cli/c"], "runs of another entry")
        same(await find(RunFilter("none")), [], "runs of no entry")
        latest = [[run.id for run in await journal.latest("gui", items=n)] for n in (1, 9)]
        same(latest, [["gui/untold"], ["gui/untold", "gui/told"]], "runs that ended last")
        same(list(await journal.latest("none", items=9)), [], "those of no entry")
        for which in (RunFilter(), RunFilter("gui"), RunFilter("gui", unacknowledged=True)):
            same(await _paged(journal, which), list(await journal.find(which)), "runs, in pages")


async def _paged(journal: Journal, which: RunFilter) -> list[Run]:
    """The runs, two at a time."""
    found: list[Run] = []
    while page := await journal.find(which, after=found[-1].id if found else "", items=2):
        true(len(page) <= 2, f"at most two runs, {len(page)} came")
        found += page
    return found


async def check_orders(open_journal: OpenJournal) -> None:
    """An order is kept until it is settled."""
    async with open_journal("orders") as journal:
        late, early = make_run("late", created=9), make_run("early", created=5)
        await end_run(journal, make_run("gone"), acknowledged=0)
        await journal.commit([PutRun(late), PutRun(early)])
        orders = [make_order(early.id, number) for number in range(1, 5)]
        await journal.commit([PutOrder(order) for order in orders])
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
        wanted = [
            OpenRun(early, left, {}),
            OpenRun(late, (OpenOrder(make_order(late.id, 1), False),), {}),
        ]
        same(list(await journal.open_runs()), wanted, "open runs, the oldest first")


async def check_keys(open_journal: OpenJournal) -> None:
    """I6: a command key is known until it is forgotten, and beyond its run's end."""
    async with open_journal("keys") as journal:
        run, other = make_run("a", created=5), make_run("b", created=9)
        await journal.commit([PutRun(run), PutRun(other)])
        for number, key in enumerate(["z", "y", "x", "z"]):
            await journal.commit([PutKey(run.id, key, OrderNumber(number))])
        await journal.commit([PutKey(run.id, "x", None), PutKey(run.id, "none", None)])
        keys = [list(known.keys.items()) for known in await journal.open_runs()]
        same(keys, [[("y", 1), ("z", 3)], []], "keys, the oldest first")
        await journal.commit([Append(run.id, make_events(run.id, 1, 1), 1, ended(run, 1))])
        asked = [(run.id, "y"), (run.id, "x"), (other.id, "y"), (RunId("no/run"), "y")]
        known = [await journal.knows(id, key) for id, key in asked]
        same(known, [True, False, False, False], "keys that are known")


async def check_notes(open_journal: OpenJournal) -> None:
    """A note is the last value put, until it is forgotten; spaces do not see each other."""
    async with open_journal("notes") as journal:
        await journal.commit(
            [PutNote("a", "x", b"1"), PutNote("a", "y", b""), PutNote("b", "x", b"2")]
        )
        same(await journal.notes("a"), {"x": b"1", "y": b""}, "notes")
        await journal.commit([PutNote("a", "x", b"3"), PutNote("a", "y", None)])
        same(await journal.notes("a"), {"x": b"3"}, "notes, one replaced, one forgotten")
        same(await journal.notes("b"), {"x": b"2"}, "notes of another space")
        same(await journal.notes("none"), {}, "notes of no space")


async def check_forgetting(open_journal: OpenJournal) -> None:
    """A run that has ended is forgotten whole, an open one never; its id is free again."""
    async with open_journal("forgetting") as journal:
        kept, old = make_run("kept"), make_run("old", created=5)
        await journal.commit([PutRun(kept), Append(kept.id, make_events(kept.id, 1, 3), 3)])
        for run, acknowledged in ((old, 1), (make_run("new", created=7), 1), (make_run("x"), 0)):
            await end_run(journal, run, acknowledged)
            await journal.commit([PutKey(run.id, "key", OrderNumber(1))])
        ended_ = await journal.ended(1_000, acknowledged=True, items=9)
        same(list(ended_), [old.id, RunId("gui/new")], "runs that ended, the earliest first")
        same(list(await journal.ended(16, acknowledged=True, items=9)), [old.id], "those before")
        same(list(await journal.ended(1_000, acknowledged=True, items=1)), [old.id], "the first")
        same(list(await journal.ended(1_000, acknowledged=False, items=9)), ["gui/x"], "the others")
        await _refused_as_open(journal, kept.id)
        await journal.commit([ForgetRun(old.id), ForgetRun(RunId("no/run"))])
        same(await journal.get(old.id), None, "a run that was forgotten")
        same(await all_events(journal, old.id), (), "its events")
        same(await journal.knows(old.id, "key"), False, "its keys")
        await end_run(journal, make_run("old", created=9), acknowledged=0)
        before = await journal.used()
        while await journal.unfreed():
            await journal.commit([FreeForgotten()])
        true(await journal.used() <= before, "no more than before in use once it is free")
        names = ["gui/kept", "gui/new", "gui/old", "gui/x"]
        same([run.id for run in await journal.find(RunFilter())], names, "runs that are there")
        same(len(await all_events(journal, kept.id)), 3, "events of another run")
        same(len(await all_events(journal, old.id)), 1, "events of the new run of that id")


async def _refused_as_open(journal: Journal, run: RunId) -> None:
    try:
        await journal.commit([ForgetRun(run)])
    except JournalConflict:
        return
    raise AssertionError("an open run was forgotten")


async def check_reopened(open_journal: OpenJournal) -> None:
    """Opened again, a journal holds what it held, and goes on from there."""
    run = make_run("a")
    async with open_journal("reopened") as journal:
        await journal.commit(
            [
                PutRun(run),
                PutOrder(make_order(run.id, 1)),
                PutKey(run.id, "k", OrderNumber(1)),
                PutNote("a", "x", b"1"),
            ]
        )
        await journal.commit([Append(run.id, make_events(run.id, 1, 3), 3)])
        before = (list(await journal.open_runs()), await journal.notes("a"))
    async with open_journal("reopened") as journal:
        same((list(await journal.open_runs()), await journal.notes("a")), before, "what was kept")
        await journal.commit([Append(run.id, make_events(run.id, 4, 1), 4)])
        same(await all_events(journal, run.id), make_events(run.id, 1, 4), "one sequence")


async def check_forgotten(open_journal: OpenJournal) -> None:
    """Opened again, a journal that is not durable is empty."""
    async with open_journal("forgotten") as journal:
        await journal.commit([PutRun(make_run("a"))])
    async with open_journal("forgotten") as journal:
        same(list(await journal.find(RunFilter())), [], "runs of a new journal")
