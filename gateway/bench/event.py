"""`gateway bench --only event`: what an event costs in its parts, each by itself."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from fleetgate.core.ids import Seq
from fleetgate.core.journal.api import Append, Journal, PutRun
from fleetgate.core.journal.samples import make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.run import Run
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.pieces import (
    AGENCY,
    AT_ONCE,
    CORE,
    DECODED,
    NEXT,
    PIECES,
    RECORD,
    RELAYED,
    RVBOX,
    WRITTEN,
    recorded,
)
from fleetgate.gateway.bench.report import maybe
from fleetgate.gateway.bench.sampler import other_threads
from fleetgate.gateway.bench.trial import new_directory

SQLITE: Final = "SQLite: in the journal's thread, without what it waits for"
AGAIN: Final = "journal: read again, for who has fallen behind"

WAYS: Final[Mapping[str, Sequence[str]]] = {
    f"**together, {worker} to agency**": (*read, CORE, RECORD, SQLITE, WRITTEN)
    for worker, read in {
        "agency": (AGENCY,),
        "rvbox": (RVBOX, DECODED),
        "kodelet": (NEXT,),
    }.items()
}
"""What an event has on a whole way, and no relay's has, from a worker to a client of agency."""

WITHIN: Final = 60.0
"""Seconds that the journal's two parts may take."""


@attrs.frozen(slots=True)
class EventPlan:
    """Each part with bodies of each size, `turns` times `AT_ONCE` events; the journal's parts with
    as many commits, and as many reads."""

    sizes: tuple[int, ...] = (256, 4096)
    turns: int = 300


PLAN: Final = EventPlan()

QUICK: Final = EventPlan(turns=60)


@attrs.frozen(slots=True)
class EventSample:
    """Microseconds of processor time for an event of `size` bytes, of each turn."""

    part: str
    size: int
    turns: Sequence[float]


@attrs.frozen(slots=True)
class EventFigure:
    """The least of the turns, by size: what the part takes where nothing disturbs it and its code
    is in the caches."""

    part: str
    micros: dict[int, float]


def measure(disk: Path, plan: EventPlan, losses: Losses) -> list[EventSample]:
    """Measure all, one after the other; a journal is under `disk` meanwhile."""
    samples: list[EventSample] = []
    for size in plan.sizes:
        for part in PIECES:
            samples.append(EventSample(part, size, _turns(part, size, plan.turns)))
            sys.stderr.write(f"{part}, {size} bytes: {min(samples[-1].turns):.2f} µs\n")
    return samples + trio.run(_measure_journal, disk, plan, losses)


def _turns(part: str, size: int, turns: int) -> list[float]:
    """Of each turn, without the collector, which what is made elsewhere would have at work here."""
    work, found = PIECES[part](size), list[float]()
    was = gc.isenabled()
    gc.disable()
    try:
        for _ in range(turns):
            begun = time.thread_time_ns()
            work()
            found.append((time.thread_time_ns() - begun) / AT_ONCE / 1000)
    finally:
        if was:
            gc.enable()
    return found


async def _measure_journal(disk: Path, plan: EventPlan, losses: Losses) -> list[EventSample]:
    samples: list[EventSample] = []
    for size in plan.sizes:
        trial = partial(_journal, disk, size, plan.turns)
        samples += await losses.attempt(f"a journal's parts, {size} bytes", trial) or []
    return samples


async def _journal(disk: Path, size: int, turns: int) -> list[EventSample]:
    with new_directory(disk) as directory, trio.fail_after(WITHIN):
        async with open_sqlite_journal(Path(directory) / "journal.db") as journal:
            run = make_run("bench")
            await journal.commit([PutRun(run)])
            kept = [await _keep(journal, run, size, nth) for nth in range(turns)]
            read = [await _read(journal, run, nth) for nth in range(turns)]
    return [EventSample(SQLITE, size, kept), EventSample(AGAIN, size, read)]


async def _keep(journal: Journal, run: Run, size: int, nth: int) -> float:
    """Of a commit, in the threads that are not this one: that is what one core more would take."""
    write = Append(run.id, recorded(size, run.id, 1 + nth * AT_ONCE), 0)
    begun = sum(other_threads().values())
    await journal.commit([write])
    return (sum(other_threads().values()) - begun) / AT_ONCE * 1e6


async def _read(journal: Journal, run: Run, nth: int) -> float:
    """Of a read, in all threads."""
    begun = time.process_time_ns()
    events = await journal.read(run.id, Seq(nth * AT_ONCE), items=AT_ONCE, size=1 << 30)
    assert len(events) == AT_ONCE
    return (time.process_time_ns() - begun) / AT_ONCE / 1000


def sum_up(samples: Iterable[EventSample]) -> list[EventFigure]:
    """What the samples come to, a figure for each part."""
    figures: dict[str, EventFigure] = {}
    for sample in samples:
        figure = figures.setdefault(sample.part, EventFigure(sample.part, {}))
        figure.micros[sample.size] = min(sample.turns)
    return [*figures.values(), *_ways(figures)]


def _ways(figures: Mapping[str, EventFigure]) -> Iterator[EventFigure]:
    """The sum of each way, of the sizes of which all its parts were measured."""
    for name, parts in WAYS.items():
        found = [figures[part].micros for part in parts if part in figures]
        if len(found) == len(parts):
            sizes = [size for size in found[0] if all(size in each for each in found)]
            yield EventFigure(name, {size: sum(each[size] for each in found) for size in sizes})


HEAD: Final = (
    "part of an event's way",
    *(f"{size} bytes, CPU µs/event" for size in PLAN.sizes),
    "a relay has it, too",
)


def row(figure: EventFigure) -> Sequence[str]:
    """A figure's line of the table."""
    sizes = (maybe(figure.micros.get(size), ".1f") for size in PLAN.sizes)
    return (figure.part, *sizes, "yes" if figure.part in RELAYED else "")
