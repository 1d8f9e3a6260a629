"""`gateway bench --only flatness`: what an event costs beside much else that is none of its."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import trio

from fleetgate.core.hub_testing import read_until
from fleetgate.gateway.bench.standing import Standing, open_standing


@attrs.frozen(slots=True)
class FlatPlan:
    """How much of each thing a hub stands among. Amounts take turns, `rounds` times, each with
    `events` events of a new run that one follower reads."""

    amounts: Mapping[str, tuple[int, ...]] = attrs.field(
        factory=lambda: {
            "events in the journal": (1_000, 100_000, 1_000_000),
            "open runs": (1, 100, 10_000),
            "idle workers": (1, 10_000),
        }
    )
    events: int = 12_800
    rounds: int = 5


QUICK: Final = FlatPlan(
    amounts={
        "events in the journal": (1_000, 30_000),
        "open runs": (1, 1_000),
        "idle workers": (1, 1_000),
    },
    events=6_400,
    rounds=3,
)


@attrs.frozen(slots=True)
class FlatSample:
    """`cpu_micros` is this process's time for an event, from its report to its follower."""

    beside: str
    amount: int
    cpu_micros: float


@attrs.frozen(slots=True)
class FlatFigure:
    """The median over the rounds, the least of them, and `ratio`: the least over that of the
    smallest amount, since whatever else the machine does can only add to it."""

    beside: str
    amount: int
    cpu_micros: float
    least: float
    ratio: float


def measure(disk: Path, plan: FlatPlan) -> list[FlatSample]:
    """Measure in this process; journals lie under `disk`, and are gone after.

    Raises: `OSError`, `JournalError`.
    """
    return trio.run(_measure, disk, plan)


async def _measure(disk: Path, plan: FlatPlan) -> list[FlatSample]:
    samples: list[FlatSample] = []
    for beside, amounts in plan.amounts.items():
        async with AsyncExitStack() as stack:
            hubs = [
                (amount, await stack.enter_async_context(_among(disk, beside, amount)))
                for amount in amounts
            ]
            for nth in range(1 + plan.rounds):
                for amount, standing in hubs:
                    spent = await _spend(standing, f"round-{nth}", plan.events)
                    if nth:  # in the first one all is new to the interpreter, and to the caches
                        samples.append(FlatSample(beside, amount, spent))
    return samples


@asynccontextmanager
async def _among(disk: Path, beside: str, amount: int) -> AsyncGenerator[Standing]:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as directory:
        async with open_standing(Path(directory) / "journal.db") as standing:
            await _FILL[beside](standing, amount)
            yield standing


async def _events(standing: Standing, amount: int) -> None:
    await standing.say(await standing.run("long"), amount)


_FILL: Final[Mapping[str, Callable[[Standing, int], Awaitable[None]]]] = {
    "events in the journal": _events,
    "open runs": Standing.open_runs,
    "idle workers": Standing.idle_workers,
}


async def _spend(standing: Standing, name: str, events: int) -> float:
    run = await standing.run(name)
    begun = time.process_time_ns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_until, standing.hub, run, events)
        await standing.say(run, events)
    return (time.process_time_ns() - begun) / events / 1000


def sum_up(samples: Iterable[FlatSample]) -> list[FlatFigure]:
    """What the samples come to."""
    groups: dict[tuple[str, int], list[float]] = {}
    for sample in samples:
        groups.setdefault((sample.beside, sample.amount), []).append(sample.cpu_micros)
    smallest: dict[str, float] = {}
    figures: list[FlatFigure] = []
    for (beside, amount), spent in groups.items():
        least = min(spent)
        ratio = least / smallest.setdefault(beside, least)
        figures.append(FlatFigure(beside, amount, median(spent), least, ratio))
    return figures


HEAD: Final = ("beside", "how many", "CPU µs/event", "least", "over the fewest")


def row(figure: FlatFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        figure.beside,
        str(figure.amount),
        f"{figure.cpu_micros:.1f}",
        f"{figure.least:.1f}",
        f"{figure.ratio:.2f}",
    )
