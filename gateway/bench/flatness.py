"""`gateway bench --only flatness`: what an event costs beside much else that is none of its.

`python -m fleetgate.gateway.bench.flatness BESIDE AMOUNT EVENTS JOURNAL` is a hub that stands among
so much of it, in a process of its own: what is collected, cached or looked through because of it
costs this hub alone. It says `ready`, and for each line that it is told, the name of a run, the
nanoseconds of processor time that so many events of that run took.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from math import comb
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import trio

from fleetgate.core.hub_testing import read_until
from fleetgate.core.ids import RunId
from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.standing import Standing, open_standing
from fleetgate.gateway.heap import settle

FIRST: Final = 3
"""Events that a run has before its worker is asked for more: assigned, started, a text."""


@attrs.frozen(slots=True)
class FlatPlan:
    """How much of each thing a hub stands among. A round is a new run at each hub, of `slices`
    times `events` events that one follower reads. The hubs take turns slice by slice, there and
    back: what else the machine does in a moment, or in a minute, meets them alike. A slice is
    shorter than most of that, and a round has several checkpoints of the journal's log, which
    belong to what an event costs."""

    amounts: Mapping[str, tuple[int, ...]] = attrs.field(
        factory=lambda: {
            "events in the journal": (1_000, 100_000, 1_000_000),
            "open runs": (1, 100, 10_000),
            "idle workers": (1, 10_000),
        }
    )
    events: int = 640
    slices: int = 20
    rounds: int = 21


PLAN: Final = FlatPlan()

QUICK: Final = FlatPlan(
    amounts={
        "events in the journal": (1_000, 30_000),
        "open runs": (1, 1_000),
        "idle workers": (1, 1_000),
    },
    slices=10,
    rounds=7,
)


@attrs.frozen(slots=True)
class FlatSample:
    """`cpu_micros` is the hub's process's time for an event, from its report to its follower, in
    the round of that number."""

    beside: str
    amount: int
    round: int
    cpu_micros: float


@attrs.frozen(slots=True)
class FlatFigure:
    """The median over the rounds. `ratio` is the median of each round's over that of the smallest
    amount in the same round, `least` and `most` the extremes; `low` and `high` are what the median
    lies between, however many more rounds there were (`interval`)."""

    beside: str
    amount: int
    cpu_micros: float
    ratio: float
    low: float
    high: float
    least: float
    most: float


def measure(disk: Path, plan: FlatPlan, losses: Losses) -> list[FlatSample]:
    """Measure; journals lie under `disk`, and are gone after."""
    return trio.run(_measure, disk, plan, losses)


async def _measure(disk: Path, plan: FlatPlan, losses: Losses) -> list[FlatSample]:
    samples: list[FlatSample] = []
    for beside in plan.amounts:
        samples += await losses.attempt(beside, partial(_beside, disk, plan, beside)) or []
    return samples


async def _beside(disk: Path, plan: FlatPlan, beside: str) -> list[FlatSample]:
    samples: list[FlatSample] = []
    async with AsyncExitStack() as stack:
        hubs = [
            (amount, await stack.enter_async_context(_among(disk, beside, amount, plan.events)))
            for amount in plan.amounts[beside]
        ]
        for _, hub in hubs:
            await hub.line(lambda line: True if line == "ready" else None)
        for nth in range(1 + plan.rounds):
            spent = await _round(hubs, f"round-{nth}", plan.slices)
            if nth:  # in the first one all is new to the interpreter, and to the caches
                micros = 1 / plan.events / plan.slices / 1000
                samples += [FlatSample(beside, each, nth, ns * micros) for each, ns in spent]
    return samples


async def _round(
    hubs: Sequence[tuple[int, Child]], name: str, slices: int
) -> Sequence[tuple[int, int]]:
    """Nanoseconds of each hub, all slices together."""
    spent = dict.fromkeys((amount for amount, _ in hubs), 0)
    for nth in range(slices):
        for amount, hub in reversed(hubs) if nth % 2 else hubs:
            await hub.tell(name)
            spent[amount] += await hub.line(_number)
    return tuple(spent.items())


def _number(line: str) -> int | None:
    return int(line) if line.isdigit() else None


@asynccontextmanager
async def _among(disk: Path, beside: str, amount: int, events: int) -> AsyncGenerator[Child]:
    family: list[Child] = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as directory:
        words = (beside, str(amount), str(events), str(Path(directory) / "journal.db"))
        async with open_child("hub", _SELF, *words, family=family, listens=True) as child:
            yield child


_SELF: Final = "fleetgate.gateway.bench.flatness"


async def be_among(beside: str, amount: int, events: int, path: Path, names: Iterator[str]) -> None:
    """Be such a hub, for each name of a run that comes."""
    async with open_standing(path) as standing:
        settle()  # first, as `gateway serve` does: what it stands among comes later
        await _FILL[beside](standing, amount)
        gc.collect()
        _write("ready")
        speaker = _Speaker(standing)
        while (name := await trio.to_thread.run_sync(next, names, None)) is not None:
            _write(str(await speaker.spend(name.strip(), events)))


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _events(standing: Standing, amount: int) -> None:
    await standing.say(await standing.run("long"), amount)


_FILL: Final[Mapping[str, Callable[[Standing, int], Awaitable[None]]]] = {
    "events in the journal": _events,
    "open runs": Standing.open_runs,
    "idle workers": Standing.idle_workers,
}


class _Speaker:
    """Has the worker speak, and reads along."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._run = RunId("")
        self._said = 0

    async def spend(self, name: str, events: int) -> int:
        """Nanoseconds of this process for so many more events of the run, which begins where it is
        another one than before."""
        if name != self._run:
            self._run, self._said = await self._standing.run(name), FIRST
            await self._standing.durable()
        after, last = self._said, self._said + events
        begun = time.process_time_ns()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_until, self._standing.hub, self._run, last, after)
            await self._standing.say(self._run, events)
        self._said = last
        return time.process_time_ns() - begun


def sum_up(samples: Iterable[FlatSample]) -> list[FlatFigure]:
    """What the samples come to."""
    groups: dict[tuple[str, int], dict[int, float]] = {}
    for sample in samples:
        group = groups.setdefault((sample.beside, sample.amount), {})
        group[sample.round] = sample.cpu_micros
    smallest: dict[str, dict[int, float]] = {}
    figures: list[FlatFigure] = []
    for (beside, amount), spent in groups.items():
        base = smallest.setdefault(beside, spent)
        ratios = [each / base[nth] for nth, each in spent.items()]
        low, high = interval(ratios)
        figures.append(
            FlatFigure(
                beside=beside,
                amount=amount,
                cpu_micros=median(spent.values()),
                ratio=median(ratios),
                low=low,
                high=high,
                least=min(ratios),
                most=max(ratios),
            )
        )
    return figures


def interval(values: Sequence[float]) -> tuple[float, float]:
    """What the median lies between, with a chance of 95 % at least and whatever the values are
    like: each falls below it or above it as a coin does. Of fewer than six, the least and the most.
    """
    found, count = sorted(values), len(values)
    out, below = 0, 1 / 2**count
    while below <= 0.025:  # the chance that so few are on one side
        out += 1
        below += comb(count, out) / 2**count
    out = max(0, out - 1)
    return found[out], found[count - 1 - out]


HEAD: Final = (
    "beside",
    "how many",
    "CPU µs/event",
    "over the fewest",
    "surely within",
    "least to most",
)


def row(figure: FlatFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        figure.beside,
        str(figure.amount),
        f"{figure.cpu_micros:.1f}",
        f"{figure.ratio:.3f}",
        f"{figure.low:.3f} to {figure.high:.3f}",
        f"{figure.least:.2f} to {figure.most:.2f}",
    )


def main(args: Sequence[str]) -> None:
    """Be a hub that is told what to do."""
    beside, amount, events, path = args
    trio.run(be_among, beside, int(amount), int(events), Path(path), iter(sys.stdin))


if __name__ == "__main__":
    main(sys.argv[1:])
