"""`gateway bench journal`: how many events a second the journal makes durable, by batch."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import trio

from fleetgate.core.journal.api import Append, Journal, PutRun
from fleetgate.core.journal.samples import make_events, make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.run import Run
from fleetgate.core.times import SECOND
from fleetgate.gateway.bench.figures import percentile
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.bench.trial import new_directory

SIZE: Final = 256
"""Bytes of an event's text: the size that the bridge's aim is about."""

BATCHES: Final = (1, 16, 64, 256)
"""Events of one commit. What comes while one is under way goes into the next, so a busy gateway
has large batches and an idle one has batches of 1."""

COMMIT_WITHIN: Final = 60.0
"""Seconds that one commit may take: beyond any disk that somebody would measure."""


@attrs.frozen(slots=True)
class AppendPlan:
    """Each batch `rounds` times, `seconds` each and at least one commit. Batches take turns, so
    that a while in which the machine was busy does not fall on one of them alone."""

    batches: tuple[int, ...] = BATCHES
    rounds: int = 3
    seconds: float = 0.5


PLAN: Final = AppendPlan()

QUICK: Final = AppendPlan(rounds=1)


@attrs.frozen(slots=True)
class AppendSample:
    """`commits` are nanoseconds from an event's way into the line to when it is durable, one for
    each commit of `batch` events; the next was put in line once it was. `size`: bytes of the file
    once it was closed."""

    batch: int
    commits: tuple[int, ...]
    size: int = 0

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.batch * len(self.commits) / sum(self.commits) * SECOND


@attrs.frozen(slots=True)
class AppendFigure:
    """Events a second: the median, the least and the most over the rounds. A commit's time in
    microseconds, over all of them; each has an fsync of its own. `size` is bytes of the file for
    an event, where there were most."""

    batch: int
    rate: float
    least: float
    most: float
    commit_p50: float
    commit_p99: float
    size: float

    @property
    def syncs(self) -> float:
        """Commits a second, of which each has its fsync."""
        return self.rate / self.batch


def measure(disk: Path, plan: AppendPlan, losses: Losses) -> list[AppendSample]:
    """Fill a journal for each sample, in a new directory under `disk` that is gone after."""
    return trio.run(_measure, disk, plan, losses)


async def _measure(disk: Path, plan: AppendPlan, losses: Losses) -> list[AppendSample]:
    samples: list[AppendSample] = []
    for _ in range(plan.rounds):
        for batch in plan.batches:
            trial = partial(_trial, disk, batch, plan.seconds)
            sample = await losses.attempt(f"{batch} events a commit", trial)
            if sample is not None:
                samples.append(sample)
    return samples


async def _trial(disk: Path, batch: int, seconds: float) -> AppendSample:
    with new_directory(disk) as directory:
        path = Path(directory) / "journal.db"
        async with open_sqlite_journal(path) as journal:
            sample = await _fill(journal, batch, seconds)
        return attrs.evolve(sample, size=os.stat(path).st_size)


async def _fill(journal: Journal, batch: int, seconds: float) -> AppendSample:
    run = make_run("bench")
    await journal.commit([PutRun(run)])
    commits: list[int] = []
    end = time.monotonic() + seconds
    while not commits or time.monotonic() < end:
        commits.append(await _append(journal, run, 1 + batch * len(commits), batch))
    kept = await journal.get(run.id)
    if kept is None or kept.last_seq != batch * len(commits):
        raise BenchFailed(f"the journal holds {kept and kept.last_seq} events of {len(commits)}")
    return AppendSample(batch, tuple(commits))


async def _append(journal: Journal, run: Run, first: int, count: int) -> int:
    """Nanoseconds until `count` events, numbered from `first`, are durable."""
    write = Append(run.id, make_events(run.id, first, count, SIZE), 0)
    answered = trio.Event()
    errors: list[Exception] = []

    def done(error: Exception | None) -> None:
        errors.extend([error] if error else [])
        answered.set()

    begun = time.monotonic_ns()
    journal.enqueue([write], done)
    with trio.move_on_after(COMMIT_WITHIN) as scope:
        await answered.wait()
    if scope.cancelled_caught or errors:
        why = errors[0] if errors else journal.pressure().failing or "it does not answer"
        raise BenchFailed(f"the journal did not commit: {why}")
    return time.monotonic_ns() - begun


def sum_up(samples: Iterable[AppendSample]) -> list[AppendFigure]:
    """What the samples come to, a figure for each batch."""
    groups: dict[int, list[AppendSample]] = {}
    for sample in samples:
        groups.setdefault(sample.batch, []).append(sample)
    return [_figure(batch, group) for batch, group in groups.items()]


def _figure(batch: int, samples: Sequence[AppendSample]) -> AppendFigure:
    rates = [sample.rate for sample in samples]
    commits = [commit for sample in samples for commit in sample.commits]
    p50, p99 = (percentile(commits, percent) / 1000 for percent in (50, 99))
    largest = max(samples, key=lambda sample: len(sample.commits))
    size = largest.size / (batch * len(largest.commits))
    return AppendFigure(batch, median(rates), min(rates), max(rates), p50, p99, size)


HEAD: Final = (
    "events a commit",
    "events/s",
    "least to most",
    "fsyncs/s",
    "commit p50, µs",
    "commit p99, µs",
    "bytes/event on disk",
)


def row(figure: AppendFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        str(figure.batch),
        f"{figure.rate:.0f}",
        f"{figure.least:.0f} to {figure.most:.0f}",
        f"{figure.syncs:.0f}",
        f"{figure.commit_p50:.0f}",
        f"{figure.commit_p99:.0f}",
        f"{figure.size:.0f}",
    )
