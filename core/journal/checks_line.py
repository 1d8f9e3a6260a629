"""How every journal must treat what waits for a commit: checks of `check_journal`, and
`check_failing`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import trio

from fleetgate.core import events as e
from fleetgate.core.journal.api import (
    Append,
    Journal,
    JournalError,
    JournalFailing,
    PutNote,
    PutRun,
    Write,
)
from fleetgate.core.journal.samples import (
    Answers,
    OpenJournal,
    all_events,
    make_events,
    make_run,
    same,
    true,
)

Fail: TypeAlias = Callable[[bool], None]
"""Let commits of every journal that is open fail from now on, or succeed again."""


async def check_answers(open_journal: OpenJournal) -> None:
    """Answers come in the order of the writes, later than `enqueue`, and after the commit."""
    async with open_journal("answers") as journal:
        run, answers = make_run("a"), Answers()
        journal.enqueue([PutRun(run)], answers.done("run"))
        for event in make_events(run.id, 1, 300):
            journal.enqueue([Append(run.id, (event,), event.seq)], answers.done(str(event.seq)))
        same(answers.came, [], "answers from within enqueue")
        pressure = journal.pressure()
        true(pressure.items >= 301 and pressure.size > 300 * 5, f"a full queue, {pressure}")
        await answers.wait(301)
        labels = ["run", *map(str, range(1, 301))]
        same(answers.came, [(label, None) for label in labels], "answers")
        same((journal.pressure().items, journal.pressure().size), (0, 0), "an empty queue")
        same(len(await all_events(journal, run.id)), 300, "events as soon as they are answered")


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
        true(scope.cancelled_caught, "a wait for room that can be cancelled")
        await journal.wait_room()
        true(journal.pressure().size < 64 << 20, "room, once the wait for it is over")
        await answers.wait(count + 1)


async def check_leaving(open_journal: OpenJournal) -> None:
    """Leaving commits what is in line, even where the body is cancelled."""
    answers = Answers()
    with trio.CancelScope() as scope:
        async with open_journal("leaving") as journal:
            journal.enqueue([PutNote("a", "x", b"1")], answers.done("note"))
            scope.cancel()
            await trio.lowlevel.checkpoint()
    same(answers.came, [("note", None)], "answers behind the end")
    try:
        async with open_journal("left by an error"):
            raise KeyError("the body's own")
    except KeyError as error:
        same(error.args, ("the body's own",), "the body's own error, in no group")


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
        true(bool(journal.pressure().failing), "a reason while it fails")
        same(answers.came, [], "answers while it fails")
        fail(False)
        await answers.wait(2)
        same(answers.came, [("one", None), ("two", None)], "answers once it works again")
        same(journal.pressure().failing, None, "the reason once it works again")
        same(await all_events(journal, run.id), events, "what waited")
        same(await journal.notes("a"), {}, "what was given up")
        fail(True)
        journal.enqueue([PutNote("a", "z", b"1")], answers.done("last"))
    label, error = answers.came[-1]
    true(label == "last" and isinstance(error, JournalFailing), f"given up, {answers.came[-1]}")


async def _refused(journal: Journal, writes: Sequence[Write]) -> None:
    try:
        await journal.commit(writes)
    except JournalFailing:
        return
    raise AssertionError("a commit of what may fail succeeded on a failing journal")
