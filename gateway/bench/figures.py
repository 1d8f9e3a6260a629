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
    """The samples of one task that were taken one after the other; of the plain relay there is
    none where the task has a rate."""

    task: Task
    relay: Sample
    bridge: Sample
    plain: Sample | None = None

    @property
    def ratio(self) -> float:
        """The bridge's events a second over the relay's."""
        return self.bridge.rate / self.relay.rate

    @property
    def plain_ratio(self) -> float | None:
        """The same over the plain relay's."""
        return None if self.plain is None else self.bridge.rate / self.plain.rate

    @property
    def cpu_ratio(self) -> float:
        """The relay's processor time for an event over the bridge's."""
        return self.relay.cpu_micros / self.bridge.cpu_micros


@attrs.frozen(slots=True)
class Throughput:
    """Medians over the pairs of one size, of memory the most. `least` and `most` are the extreme
    ratios. `cpu_ratio` is the relay's processor time for an event over the bridge's: what the
    ratio would be if the subject alone, on one processor, were the limit. `busy` is how many
    processors the subject kept at work. `plain` is the relay that reads a frame and writes a frame,
    and `plain_ratio` the bridge's events a second over its."""

    size: int
    plain: float | None
    relay: float
    bridge: float
    plain_ratio: float | None
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
    """Samples side by side, in the order of their trials. A pair without a relay, or a bridge, is
    left out."""
    found: dict[int, dict[Kind, Sample]] = {}
    tasks: dict[int, Task] = {}
    for trial, sample in samples:
        found.setdefault(trial.pair, {})[trial.kind] = sample
        tasks[trial.pair] = trial.task
    return [
        Pair(tasks[number], each[Kind.RELAY], each[Kind.BRIDGE], each.get(Kind.PLAIN))
        for number, each in sorted(found.items())
        if {Kind.RELAY, Kind.BRIDGE} <= set(each)
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
        plain=median_of(p.plain.rate for p in pairs if p.plain is not None),
        relay=median(s.rate for s in relays),
        bridge=median(s.rate for s in bridges),
        plain_ratio=median_of(p.plain_ratio for p in pairs if p.plain_ratio is not None),
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


def median_of(values: Iterable[float]) -> float | None:
    """Their median; None where there are none."""
    found = list(values)
    return median(found) if found else None


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
