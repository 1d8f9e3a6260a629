"""Runs, events and orders to fill a journal with, and answers to wait for: for its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq
from fleetgate.core.journal.api import Append, Journal, OpenRun, PutRun, RunFilter
from fleetgate.core.run import Run

OpenJournal: TypeAlias = Callable[[str], AbstractAsyncContextManager[Journal]]
"""Gives an empty journal for a name that it has not seen, and opens the same one again for a
name that it has."""

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


class WriteOnly(Journal):
    """A journal of which nothing can be read: the half of one that is tested by itself."""

    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[e.Recorded]:
        raise NotImplementedError

    async def get(self, run: RunId) -> Run | None:
        raise NotImplementedError

    async def find(
        self, which: RunFilter, *, after: str = "", items: int | None = None
    ) -> Sequence[Run]:
        raise NotImplementedError

    async def latest(self, link: str, *, items: int) -> Sequence[Run]:
        raise NotImplementedError

    async def open_runs(self) -> Sequence[OpenRun]:
        raise NotImplementedError

    async def knows(self, run: RunId, key: str) -> bool:
        raise NotImplementedError

    async def ended(self, before: int, *, acknowledged: bool, items: int) -> Sequence[RunId]:
        raise NotImplementedError

    async def used(self) -> int:
        raise NotImplementedError

    async def unfreed(self) -> bool:
        raise NotImplementedError

    async def notes(self, space: str) -> Mapping[str, bytes]:
        raise NotImplementedError


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


async def end_run(journal: Journal, run: Run, acknowledged: int) -> None:
    """Write `run` with one event, its end."""
    last = ended(run, 1, acknowledged)
    await journal.commit([PutRun(run), Append(run.id, make_events(run.id, 1, 1), 0, last)])


async def all_events(journal: Journal, run: RunId) -> tuple[e.Recorded, ...]:
    """The events of `run`, as committed."""
    return tuple(await journal.read(run, Seq(0), items=EVERYTHING, size=EVERYTHING))


def same(found: object, wanted: object, what: str) -> None:
    """Demand that `found` is `wanted`; `what` says of what.

    Raises: `AssertionError`.
    """
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


def true(holds: bool, what: str) -> None:
    """Demand `what`.

    Raises: `AssertionError`.
    """
    if not holds:
        raise AssertionError(f"expected {what}")
