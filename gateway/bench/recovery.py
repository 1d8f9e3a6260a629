"""`gateway bench --only recovery`: how long a gateway takes to come back on a long journal, and how
long a follower takes to be given a long run again.

The gateway is the bridge of the part `bridge`, `gateway serve`. A host and a client dial once it is
ready; the first event is the first text of a new run, which by then is durable, at the client.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final, TypeVar

import attrs
import trio

from fleetgate.core.times import SECOND
from fleetgate.gateway.bench.child import Child
from fleetgate.gateway.bench.client import RUN, LoadClient
from fleetgate.gateway.bench.host import LoadHost
from fleetgate.gateway.bench.links import CLIENT, HOST
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.report import maybe
from fleetgate.gateway.bench.standing import open_standing
from fleetgate.gateway.bench.subjects import Kind, Subject, open_subject
from fleetgate.gateway.bench.tally import Tally, see_agency
from fleetgate.gateway.bench.task import BenchFailed, Task
from fleetgate.transports.open import open_dialer

_T = TypeVar("_T")

WITHIN: Final = 300.0
"""Seconds that one trial may take."""

READY: Final = "ready"
FIRST: Final = "first event"
EMPTY: Final = "empty journal"
FULL: Final = "full journal"
REPLAY: Final = "replay to one follower"


@attrs.frozen(slots=True)
class RecoveryPlan:
    """A journal of so many events, `replayed` of them of one run, and of so many open runs."""

    events: int = 1_000_000
    replayed: int = 100_000
    open_runs: int = 10_000
    rounds: int = 3


PLAN: Final = RecoveryPlan()

QUICK: Final = RecoveryPlan(events=20_000, replayed=10_000, open_runs=500, rounds=1)


@attrs.frozen(slots=True)
class RecoverySample:
    """Nanoseconds: from before the process was made until it said that it was ready, or until the
    first event was at a client; or from a client's asking until a run's last event was there."""

    what: str
    taken: int


@attrs.frozen(slots=True)
class RecoveryFigure:
    """Milliseconds: the median over the rounds, the least, and the median over that of an empty
    journal, where there is such a one."""

    what: str
    p50: float
    least: float
    over_empty: float | None


def measure(disk: Path, plan: RecoveryPlan, losses: Losses) -> list[RecoverySample]:
    """Make the journal, and measure on it. It lies under `disk`, and is gone after."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk.absolute()) as directory:
        return trio.run(_measure, Path(directory), plan, losses)


async def _measure(directory: Path, plan: RecoveryPlan, losses: Losses) -> list[RecoverySample]:
    samples: list[RecoverySample] = []
    trials = Trials(directory, plan)
    if await losses.attempt("a full journal", partial(_within, trials.fill)) is None:
        return samples
    for _ in range(plan.rounds):
        for what, trial in ((EMPTY, trials.start_empty), (FULL, trials.start_full)):
            samples += await losses.attempt(what, partial(_within, trial)) or []
            sys.stderr.write(f"{what}: {_progress(samples, what)}\n")
        samples += await losses.attempt(REPLAY, partial(_within, trials.replay)) or []
    return samples


def _progress(samples: Sequence[RecoverySample], what: str) -> str:
    ends = (each for each in samples if each.what.endswith(what))
    return ", ".join(f"{each.what} {each.taken / SECOND:.2f} s" for each in ends)


async def _within(trial: Callable[[], Awaitable[_T]]) -> _T:
    try:
        with trio.fail_after(WITHIN):
            return await trial()
    except trio.TooSlowError:
        raise BenchFailed(f"it took more than {WITHIN:.0f} s") from None


class Trials:
    """Those of one bench. A try that fails may have left a run half done: the next one has a run
    and a journal that no other has touched."""

    def __init__(self, directory: Path, plan: RecoveryPlan) -> None:
        self._directory = directory
        self._plan = plan
        self._numbers = count(1)
        self._full: Path | None = None
        """The full journal, unless a try has failed on it or is at it."""

    def _place(self) -> Path:
        place = self._directory / f"{next(self._numbers)}"
        place.mkdir()
        return place

    async def fill(self) -> Path:
        """Make the full journal."""
        place = self._place()
        await _fill(place, self._plan)
        self._full = place
        return place

    @asynccontextmanager
    async def _filled(self) -> AsyncGenerator[Path]:
        place = self._full or await self.fill()
        self._full = None
        yield place
        self._full = place

    async def start_empty(self) -> Sequence[RecoverySample]:
        """Of a gateway without a journal."""
        return await _start(self._place(), "again", EMPTY)

    async def start_full(self) -> Sequence[RecoverySample]:
        """Of one that comes back."""
        async with self._filled() as place:
            return await _start(place, f"again-{next(self._numbers)}", FULL)

    async def replay(self) -> Sequence[RecoverySample]:
        """Of the long run."""
        async with self._filled() as place:
            return await _replay(place, self._plan)


# --- the journal


async def _fill(place: Path, plan: RecoveryPlan) -> None:
    """One long run by way of a gateway, whose client can then ask for it; the rest directly."""
    async with _open(place) as subject, _client(subject, RUN, plan.replayed) as client:
        await client.attach()
        async with hosting(subject):
            await _hear(client, plan.replayed)
    async with open_standing(place / "journal.db") as standing:
        await standing.say(await standing.run("rest"), plan.events - plan.replayed)
        await standing.open_runs(plan.open_runs)


# --- trials


async def _start(place: Path, run: str, what: str) -> Sequence[RecoverySample]:
    begun = time.monotonic_ns()
    async with _open(place) as subject:
        ready = time.monotonic_ns() - begun
        async with hosting(subject), _client(subject, run, 1) as client:
            await client.attach()
            while not any(see_agency(frame).body for frame in await client.receive()):
                pass
            first = time.monotonic_ns() - begun
    return [
        RecoverySample(f"{READY}, {what}", ready),
        RecoverySample(f"{FIRST}, {what}", first),
    ]


async def _replay(place: Path, plan: RecoveryPlan) -> Sequence[RecoverySample]:
    async with _open(place) as subject, _client(subject, RUN, plan.replayed) as client:
        begun = time.monotonic_ns()
        await client.attach(start=False)
        await _hear(client, plan.replayed)
        return [RecoverySample(REPLAY, time.monotonic_ns() - begun)]


async def _hear(client: LoadClient, events: int) -> None:
    """Hear all of a run; each event must have the next number."""
    tally = Tally(see_agency, every=False)
    while not tally.ended:
        frames = await client.receive()
        if frames:
            tally.take(frames, time.monotonic_ns())
    if tally.outputs != events:
        raise BenchFailed(f"a follower got {tally.outputs} events of {events}")


_WHOLE: Final = "replay_bound = 0"
"""A run can be had again from its first event on, and not its last 2,048 only."""


@asynccontextmanager
async def _open(place: Path) -> AsyncGenerator[Subject]:
    family: list[Child] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as sockets:
        opened = open_subject(Kind.BRIDGE, Path(sockets), place, family, north=_WHOLE)
        async with opened as subject:
            yield subject


@asynccontextmanager
async def _client(subject: Subject, run: str, events: int) -> AsyncGenerator[LoadClient]:
    async with open_dialer(f"unix:{subject.socket}", CLIENT) as dialer:
        client = LoadClient(await dialer.dial(), Task(256, WITHIN, events=events), run)
        try:
            yield client
        finally:
            await client.leave()


@asynccontextmanager
async def hosting(subject: Subject) -> AsyncGenerator[None]:
    """A load host at the subject, for the time of the block."""
    async with open_dialer(subject.url, HOST) as dialer:
        link = await dialer.dial()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(LoadHost(link, plain=False).run)
                yield
                nursery.cancel_scope.cancel()
        finally:
            # Behind its host: the end of a run is acknowledged when its client hears of it, and one
            # that is about to read that would find the link closed under it.
            await link.close(None)


def sum_up(samples: Iterable[RecoverySample]) -> list[RecoveryFigure]:
    """What the samples come to."""
    groups: dict[str, list[int]] = {}
    for sample in samples:
        groups.setdefault(sample.what, []).append(sample.taken)
    middle = {what: median(taken) / 1e6 for what, taken in groups.items()}

    def over_empty(what: str) -> float | None:
        empty = what.replace(FULL, EMPTY)
        return middle[what] / middle[empty] if empty != what and empty in middle else None

    return [
        RecoveryFigure(what, middle[what], min(taken) / 1e6, over_empty(what))
        for what, taken in groups.items()
    ]


HEAD: Final = ("what", "p50, ms", "least, ms", "over the empty journal")


def row(figure: RecoveryFigure) -> Sequence[str]:
    """A figure's line of the table."""
    over = maybe(figure.over_empty, ".2f")
    return (figure.what, f"{figure.p50:.0f}", f"{figure.least:.0f}", over)
