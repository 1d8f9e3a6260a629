"""Which pairs are measured, and what their samples come to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.gateway.bench.figures import median_of
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.pairs.load import PairSample
from fleetgate.gateway.bench.pairs.places import PROTOCOLS
from fleetgate.gateway.bench.pairs.saying import SNAPSHOTS, Work
from fleetgate.gateway.bench.pairs.trial import run_pair
from fleetgate.gateway.bench.report import maybe
from fleetgate.gateway.bench.sample import Taken
from fleetgate.gateway.bench.subjects import Kind

SIZE: Final = 256
"""Bytes of a text."""

SHOWN: Final = 900_000
"""Bytes that a controller of snapshots is shown of one run, a little less than it may be: all that
comes behind them is left out."""


@attrs.frozen(slots=True)
class PairsPlan:
    """Each pair with each number of runs, `rounds` times, relays and then a bridge. A run has
    `each` events at least, so that its beginning and its end are little of it. A relay is so much
    faster that it is given `more` times the events, and has no runs. Rounds go through all
    pairs, so that a while in which the machine was busy does not fall on one of them alone."""

    pairs: tuple[tuple[str, str], ...] = tuple((n, s) for n in PROTOCOLS for s in PROTOCOLS)
    runs: tuple[int, ...] = (1, 64)
    events: int = 12_800
    each: int = 500
    more: int = 4
    rounds: int = 2

    def trials(self) -> Iterator[PairTrial]:
        """All of them."""
        for _ in range(self.rounds):
            for north, south in self.pairs:
                yield PairTrial(Kind.PLAIN, north, south, Work(0, self.events))
                yield PairTrial(Kind.RELAY, north, south, Work(0, self.events * self.more))
                for runs in self.runs:
                    yield PairTrial(Kind.BRIDGE, north, south, Work(runs, self.total(north, runs)))

    def total(self, north: str, runs: int) -> int:
        """Events of a bridge's trial."""
        events = max(self.events, runs * self.each)
        return min(events, runs * SHOWN // SIZE) if north == SNAPSHOTS else events


PLAN: Final = PairsPlan()

QUICK: Final = PairsPlan(
    pairs=tuple(zip(PROTOCOLS, (*PROTOCOLS[1:], PROTOCOLS[0]), strict=True)),
    runs=(1,),
    events=6400,
    rounds=1,
)
"""Every protocol once on each side."""


@attrs.frozen(slots=True)
class PairTrial:
    """One trial: of a relay with no runs, or of a bridge."""

    kind: Kind
    north: str
    south: str
    work: Work


@attrs.frozen(slots=True)
class PairFigure:
    """Medians over the rounds. `ratio` is the bridge's events a second over the relay's,
    `plain_ratio` over those of the relay that reads a frame and writes a frame, and `cpu_ratio` the
    relay's processor time for an event over the bridge's. `whole`: each event came as one."""

    north: str
    south: str
    runs: int
    plain: float | None
    relay: float
    bridge: float
    plain_ratio: float | None
    ratio: float
    relay_cpu_micros: float
    bridge_cpu_micros: float
    cpu_ratio: float
    whole: bool


TakenPair: TypeAlias = Taken[PairTrial, PairSample]


def measure(disk: Path, plan: PairsPlan, losses: Losses) -> list[TakenPair]:
    """Run all trials, and say on stderr how each went."""
    return trio.run(_measure, disk, plan, losses)


async def _measure(disk: Path, plan: PairsPlan, losses: Losses) -> list[TakenPair]:
    trials = list(plan.trials())
    samples: list[TakenPair] = []
    for nth, each in enumerate(trials, 1):
        run = partial(run_pair, each.kind, each.north, each.south, each.work, disk)
        sample = await losses.attempt(name_of(each), run)
        if sample is not None:
            samples.append(Taken(each, sample))
            rate = f"{sample.rate:.0f} events/s, {sample.cpu_micros:.1f} µs each"
            sys.stderr.write(f"{nth}/{len(trials)} {name_of(each)}: {rate}\n")
    return samples


def name_of(trial: PairTrial) -> str:
    """What a trial is called."""
    runs = f", {trial.work.runs} runs" if trial.work.runs else ""
    return f"{trial.kind.value} from {trial.north} to {trial.south}{runs}"


def sum_up(samples: Iterable[TakenPair]) -> list[PairFigure]:
    """What the samples come to: a figure for each pair and number of runs, where there is a relay
    to compare with."""
    relays: dict[tuple[str, str, Kind], list[PairSample]] = {}
    bridges: dict[tuple[str, str, int], list[TakenPair]] = {}
    for taken in samples:
        trial, sample = taken.trial, taken.sample
        if trial.kind is Kind.BRIDGE:
            key = (trial.north, trial.south, trial.work.runs)
            bridges.setdefault(key, []).append(taken)
        else:
            relays.setdefault((trial.north, trial.south, trial.kind), []).append(sample)
    return [
        _figure(key, relays[*key[:2], Kind.RELAY], relays.get((*key[:2], Kind.PLAIN), ()), group)
        for key, group in bridges.items()
        if (*key[:2], Kind.RELAY) in relays
    ]


def _figure(
    key: tuple[str, str, int],
    relays: Sequence[PairSample],
    plains: Sequence[PairSample],
    bridges: Sequence[TakenPair],
) -> PairFigure:
    north, south, runs = key
    relay, bridge = (
        median(s.rate for s in each) for each in (relays, [each.sample for each in bridges])
    )
    plain = median_of(sample.rate for sample in plains)
    relay_cpu = median(sample.cpu_micros for sample in relays)
    bridge_cpu = median(each.sample.cpu_micros for each in bridges)
    return PairFigure(
        north=north,
        south=south,
        runs=runs,
        plain=plain,
        relay=relay,
        bridge=bridge,
        plain_ratio=None if plain is None else bridge / plain,
        ratio=bridge / relay,
        relay_cpu_micros=relay_cpu,
        bridge_cpu_micros=bridge_cpu,
        cpu_ratio=relay_cpu / bridge_cpu,
        whole=all(_whole(each.trial.work, each.sample) for each in bridges),
    )


def _whole(work: Work, sample: PairSample) -> bool:
    return sample.arrived == sample.events * work.size


HEAD: Final = (
    "controller",
    "worker",
    "runs",
    "plain relay, events/s",
    "relay, events/s",
    "bridge, events/s",
    "ratio to the plain relay",
    "ratio",
    "relay, CPU µs/event",
    "bridge, CPU µs/event",
    "by CPU time",
    "each by itself",
)


def row(figure: PairFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        figure.north,
        figure.south,
        str(figure.runs),
        maybe(figure.plain, ".0f"),
        f"{figure.relay:.0f}",
        f"{figure.bridge:.0f}",
        maybe(figure.plain_ratio, ".2f"),
        f"{figure.ratio:.2f}",
        f"{figure.relay_cpu_micros:.1f}",
        f"{figure.bridge_cpu_micros:.1f}",
        f"{figure.cpu_ratio:.2f}",
        "yes" if figure.whole else "no",
    )
