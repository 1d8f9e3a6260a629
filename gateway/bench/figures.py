"""What samples come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

import attrs

from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task

PERCENTS: Final = (50, 99, 99.9)


@attrs.frozen(slots=True)
class Pair:
    """The two samples of one task that were taken one after the other."""

    task: Task
    relay: Sample
    bridge: Sample

    @property
    def ratio(self) -> float:
        """The bridge's events a second over the relay's."""
        return self.bridge.rate / self.relay.rate

    @property
    def cpu_ratio(self) -> float:
        """The relay's processor time for an event over the bridge's."""
        return self.relay.cpu_micros / self.bridge.cpu_micros


@attrs.frozen(slots=True)
class Throughput:
    """Medians over the pairs of one size, of memory the most. `least` and `most` are the extreme
    ratios. `cpu_ratio` is the relay's processor time for an event over the bridge's: what the
    ratio would be if the subject alone, on one processor, were the limit. `busy` is how many
    processors the subject kept at work."""

    size: int
    relay: float
    bridge: float
    ratio: float
    least: float
    most: float
    cpu_ratio: float
    relay_cpu_micros: float
    bridge_cpu_micros: float
    relay_busy: float
    bridge_busy: float
    relay_peak_rss: int
    bridge_peak_rss: int


@attrs.frozen(slots=True)
class Latency:
    """Medians over the pairs of one rate, in microseconds. `added` is the bridge's less the
    relay's, within each pair."""

    size: int
    rate: int
    percent: float
    relay: float
    bridge: float
    added: float


def percentile(values: Sequence[int], percent: float) -> int:
    """The smallest value that so many percent of all are not above (nearest rank).

    Raises: `ValueError`: there are no values.
    """
    if not values:
        raise ValueError("no percentile of nothing")
    rank = max(1, math.ceil(len(values) * percent / 100))
    return sorted(values)[rank - 1]


def pairs_of(samples: Iterable[tuple[Trial, Sample]]) -> list[Pair]:
    """Samples side by side, in the order of their trials. A pair of which one is missing is left
    out."""
    found: dict[int, dict[Kind, Sample]] = {}
    tasks: dict[int, Task] = {}
    for trial, sample in samples:
        found.setdefault(trial.pair, {})[trial.kind] = sample
        tasks[trial.pair] = trial.task
    return [
        Pair(tasks[number], both[Kind.RELAY], both[Kind.BRIDGE])
        for number, both in sorted(found.items())
        if len(both) == len(Kind)
    ]


def throughputs(pairs: Iterable[Pair]) -> list[Throughput]:
    """What the pairs without a rate come to, one for each size."""
    return [
        _throughput(task.size, group) for task, group in _by_task(pairs).items() if not task.rate
    ]


def _throughput(size: int, pairs: Sequence[Pair]) -> Throughput:
    ratios = [pair.ratio for pair in pairs]
    relays, bridges = [p.relay for p in pairs], [p.bridge for p in pairs]
    return Throughput(
        size=size,
        relay=median(s.rate for s in relays),
        bridge=median(s.rate for s in bridges),
        ratio=median(ratios),
        least=min(ratios),
        most=max(ratios),
        cpu_ratio=median(p.cpu_ratio for p in pairs),
        relay_cpu_micros=median(s.cpu_micros for s in relays),
        bridge_cpu_micros=median(s.cpu_micros for s in bridges),
        relay_busy=median(s.cpu_seconds / s.seconds for s in relays),
        bridge_busy=median(s.cpu_seconds / s.seconds for s in bridges),
        relay_peak_rss=max(s.peak_rss for s in relays),
        bridge_peak_rss=max(s.peak_rss for s in bridges),
    )


def latencies(pairs: Iterable[Pair]) -> list[Latency]:
    """What the pairs with a rate come to: some percentiles of each rate."""
    return [
        _latency(task, group, percent)
        for task, group in _by_task(pairs).items()
        if task.rate
        for percent in PERCENTS
    ]


def _latency(task: Task, pairs: Sequence[Pair], percent: float) -> Latency:
    relays = [percentile(p.relay.lateness, percent) / 1000 for p in pairs]
    bridges = [percentile(p.bridge.lateness, percent) / 1000 for p in pairs]
    added = [bridge - relay for relay, bridge in zip(relays, bridges, strict=True)]
    return Latency(task.size, task.rate, percent, median(relays), median(bridges), median(added))


def _by_task(pairs: Iterable[Pair]) -> Mapping[Task, Sequence[Pair]]:
    groups: dict[Task, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.task, []).append(pair)
    return groups
