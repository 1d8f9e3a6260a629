"""`gateway bench --only profile`: where a bridge's processor time goes, by room and by function."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.pairs.saying import Work
from fleetgate.gateway.bench.pairs.trial import sample_pair
from fleetgate.gateway.bench.report import table
from fleetgate.gateway.bench.rooms import ROOMS
from fleetgate.gateway.bench.sampler import Spot

TOP: Final = 8
"""Functions of each pair that the page shows."""

KEPT: Final = 40
"""Those that a result has, and that a profile of one pair shows."""


@attrs.frozen(slots=True)
class ProfilePlan:
    """Each pair, controller and worker, with so many runs at once and events in all, `rounds`
    times."""

    pairs: tuple[tuple[str, str], ...] = (
        ("agency", "agency"),
        ("agency", "rvbox"),
        ("agency", "kodelet"),
    )
    runs: int = 64
    events: int = 38_400
    rounds: int = 2


PLAN: Final = ProfilePlan()

QUICK: Final = ProfilePlan(pairs=(("agency", "rvbox"),), events=6_400, rounds=1)


@attrs.frozen(slots=True)
class ProfileSample:
    """`seconds` of the bridge's processor time by the kernel's clock of its process, and where the
    bridge itself saw it go."""

    north: str
    south: str
    events: int
    seconds: float
    spots: Sequence[Spot]


@attrs.frozen(slots=True)
class ProfileFigure:
    """Microseconds of an event: the median of the rounds of all, and of each room. `seen` is how
    much of the process's time the rooms are together."""

    north: str
    south: str
    micros: float
    seen: float
    rooms: Mapping[str, float]


@attrs.frozen(slots=True)
class FunctionFigure:
    """Microseconds of an event that a function took by itself: the mean of the rounds."""

    north: str
    south: str
    room: str
    function: str
    micros: float


def plan_of(pair: str, plan: ProfilePlan) -> ProfilePlan:
    """The plan for one pair alone, `CONTROLLER-WORKER`.

    Raises: `ValueError`: it is not two words.
    """
    north, south = pair.split("-")
    return attrs.evolve(plan, pairs=((north, south),))


def measure(disk: Path, plan: ProfilePlan, losses: Losses) -> list[ProfileSample]:
    """Run all trials, and say on stderr how each went."""
    return trio.run(_measure, disk, plan, losses)


async def _measure(disk: Path, plan: ProfilePlan, losses: Losses) -> list[ProfileSample]:
    samples: list[ProfileSample] = []
    work = Work(plan.runs, plan.events)
    for _ in range(plan.rounds):
        for north, south in plan.pairs:
            name = f"profile of a bridge from {north} to {south}"
            found = await losses.attempt(name, partial(sample_pair, north, south, work, disk))
            if found is not None:
                sample, spots = found
                events, seconds = sample.events, sample.cpu_seconds
                samples.append(ProfileSample(north, south, events, seconds, spots))
                sys.stderr.write(f"{name}: {sample.cpu_micros:.1f} µs each\n")
    return samples


_Pair: TypeAlias = tuple[str, str]


def _by_pair(samples: Iterable[ProfileSample]) -> Mapping[_Pair, Sequence[ProfileSample]]:
    groups: dict[_Pair, list[ProfileSample]] = {}
    for sample in samples:
        groups.setdefault((sample.north, sample.south), []).append(sample)
    return groups


def sum_up(samples: Iterable[ProfileSample]) -> list[ProfileFigure]:
    """What the samples come to, a figure for each pair."""
    return [_figure(*pair, group) for pair, group in _by_pair(samples).items()]


def _figure(north: str, south: str, samples: Sequence[ProfileSample]) -> ProfileFigure:
    rooms = [_rooms(sample) for sample in samples]
    return ProfileFigure(
        north=north,
        south=south,
        micros=median(sample.seconds / sample.events * 1e6 for sample in samples),
        seen=median(sum(spot.seconds for spot in s.spots) / s.seconds for s in samples),
        rooms={room: median(each[room] for each in rooms) for room in ROOMS},
    )


def _rooms(sample: ProfileSample) -> dict[str, float]:
    found = dict.fromkeys(ROOMS, 0.0)
    for spot in sample.spots:
        found[spot.room] += spot.seconds / sample.events * 1e6
    return found


def functions(samples: Iterable[ProfileSample], most: int = KEPT) -> list[FunctionFigure]:
    """Those that took most, of each pair."""
    return [
        figure
        for pair, group in _by_pair(samples).items()
        for figure in sorted(_functions(*pair, group), key=lambda each: -each.micros)[:most]
    ]


def _functions(north: str, south: str, samples: Sequence[ProfileSample]) -> list[FunctionFigure]:
    spent: dict[_Pair, float] = {}
    for sample in samples:
        for spot in sample.spots:
            place = (spot.room, spot.function)
            spent[place] = spent.get(place, 0.0) + spot.seconds
    events = sum(sample.events for sample in samples)
    return [
        FunctionFigure(north, south, *place, seconds / events * 1e6)
        for place, seconds in spent.items()
    ]


HEAD: Final = ("controller", "worker", "CPU µs/event", *ROOMS, "seen")


def row(figure: ProfileFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        figure.north,
        figure.south,
        f"{figure.micros:.1f}",
        *(f"{figure.rooms[room]:.1f}" for room in ROOMS),
        f"{figure.seen:.0%}",
    )


FUNCTION_HEAD: Final = ("controller", "worker", "room", "function, by itself", "CPU µs/event")


def function_row(figure: FunctionFigure) -> Sequence[str]:
    """A function's line of the table."""
    pair = (figure.north, figure.south)
    return (*pair, figure.room, f"`{figure.function}`", f"{figure.micros:.1f}")


def tables(samples: Sequence[ProfileSample], most: int = TOP) -> str:
    """Both tables: rooms, and so many functions of each pair."""
    return "\n\n".join(
        (
            table(HEAD, map(row, sum_up(samples))),
            table(FUNCTION_HEAD, map(function_row, functions(samples, most))),
        )
    )
