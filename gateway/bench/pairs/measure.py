"""Which pairs are measured, and what their samples come to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import trio

from fleetgate.gateway.bench.pairs.load import PairSample, Work
from fleetgate.gateway.bench.pairs.places import PROTOCOLS
from fleetgate.gateway.bench.pairs.trial import run_pair
from fleetgate.gateway.bench.subjects import Kind


@attrs.frozen(slots=True)
class PairsPlan:
    """Each pair with each number of runs, `rounds` times, a relay and then a bridge. A relay is so
    much faster that it is given `more` times the events, and has no runs. Rounds go through all
    pairs, so that a while in which the machine was busy does not fall on one of them alone."""

    pairs: tuple[tuple[str, str], ...] = tuple((n, s) for n in PROTOCOLS for s in PROTOCOLS)
    runs: tuple[int, ...] = (1, 64)
    events: int = 12_800
    more: int = 4
    rounds: int = 2

    def trials(self) -> Iterator[PairTrial]:
        """All of them."""
        for _ in range(self.rounds):
            for north, south in self.pairs:
                yield PairTrial(Kind.RELAY, north, south, Work(0, self.events * self.more))
                for runs in self.runs:
                    yield PairTrial(Kind.BRIDGE, north, south, Work(runs, self.events))


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
    """Medians over the rounds. `ratio` is the bridge's events a second over the relay's, and
    `cpu_ratio` the relay's processor time for an event over the bridge's. `whole`: each event came
    as one."""

    north: str
    south: str
    runs: int
    relay: float
    bridge: float
    ratio: float
    relay_cpu_micros: float
    bridge_cpu_micros: float
    cpu_ratio: float
    whole: bool


def measure(disk: Path, plan: PairsPlan) -> list[tuple[PairTrial, PairSample]]:
    """Run all trials, and say on stderr how each went.

    Raises: `BenchFailed`.
    """
    trials = list(plan.trials())
    samples: list[tuple[PairTrial, PairSample]] = []
    for nth, each in enumerate(trials, 1):
        sample = trio.run(run_pair, each.kind, each.north, each.south, each.work, disk)
        samples.append((each, sample))
        sys.stderr.write(f"{nth}/{len(trials)} {_progress(each, sample)}\n")
    return samples


def _progress(trial: PairTrial, sample: PairSample) -> str:
    name = f"{trial.kind.value} from {trial.north} to {trial.south}"
    return f"{name}: {sample.rate:.0f} events/s, {sample.cpu_micros:.1f} µs each"


def sum_up(samples: Iterable[tuple[PairTrial, PairSample]]) -> list[PairFigure]:
    """What the samples come to: a figure for each pair and number of runs."""
    relays: dict[tuple[str, str], list[PairSample]] = {}
    bridges: dict[tuple[str, str, int], list[tuple[PairTrial, PairSample]]] = {}
    for trial, sample in samples:
        if trial.kind is Kind.RELAY:
            relays.setdefault((trial.north, trial.south), []).append(sample)
        else:
            key = (trial.north, trial.south, trial.work.runs)
            bridges.setdefault(key, []).append((trial, sample))
    return [_figure(key, relays[key[:2]], group) for key, group in bridges.items()]


def _figure(
    key: tuple[str, str, int],
    relays: Sequence[PairSample],
    bridges: Sequence[tuple[PairTrial, PairSample]],
) -> PairFigure:
    north, south, runs = key
    relay, bridge = (median(s.rate for s in each) for each in (relays, [s for _, s in bridges]))
    relay_cpu = median(sample.cpu_micros for sample in relays)
    bridge_cpu = median(sample.cpu_micros for _, sample in bridges)
    return PairFigure(
        north=north,
        south=south,
        runs=runs,
        relay=relay,
        bridge=bridge,
        ratio=bridge / relay,
        relay_cpu_micros=relay_cpu,
        bridge_cpu_micros=bridge_cpu,
        cpu_ratio=relay_cpu / bridge_cpu,
        whole=all(s.arrived == s.events * trial.work.size for trial, s in bridges),
    )


HEAD: Final = (
    "controller",
    "worker",
    "runs",
    "relay, events/s",
    "bridge, events/s",
    "ratio",
    "relay, CPU µs/event",
    "bridge, CPU µs/event",
    "by CPU time",
    "each by itself",
)


def row(f: PairFigure) -> Sequence[str]:
    """A figure's line of the table."""
    return (
        f.north,
        f.south,
        str(f.runs),
        f"{f.relay:.0f}",
        f"{f.bridge:.0f}",
        f"{f.ratio:.2f}",
        f"{f.relay_cpu_micros:.1f}",
        f"{f.bridge_cpu_micros:.1f}",
        f"{f.cpu_ratio:.2f}",
        "yes" if f.whole else "no",
    )
