"""What samples come to."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.bench.figures import Pair, latencies, pairs_of, percentile, throughputs
from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import Task


def sample(
    rate: float, *, cpu: float = 1.0, rss: int = 0, lateness: tuple[int, ...] = ()
) -> Sample:
    return Sample(
        events=1000,
        size=0,
        seconds=1000 / rate,
        cpu_seconds=cpu,
        peak_rss=rss,
        lateness=lateness,
    )


@given(st.lists(st.integers(), min_size=1), st.floats(0, 100))
def test_a_percentile_is_the_least_value_that_so_many_are_not_above(
    values: list[int], percent: float
) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= math.floor(len(values) * percent / 100)
    assert sum(value < found for value in values) <= len(values) * percent / 100


def test_percentiles_of_a_hundred_and_of_nothing() -> None:
    values = list(range(100, 0, -1))
    assert [percentile(values, p) for p in (0, 1, 50, 99, 100)] == [1, 1, 50, 99, 100]
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 50)


def test_samples_are_paired_by_number_and_a_lone_one_is_left_out() -> None:
    task, other = Task(64, 1.0), Task(128, 1.0)
    fast, slow, lone = sample(100), sample(50), sample(1)
    pairs = pairs_of(
        [
            (Trial(2, Kind.BRIDGE, task), slow),
            (Trial(3, Kind.RELAY, other), lone),
            (Trial(2, Kind.RELAY, task), fast),
        ]
    )
    assert pairs == [Pair(task, fast, slow)]
    assert pairs[0].ratio == pytest.approx(0.5)


def test_throughput_is_the_median_over_pairs_of_one_size() -> None:
    task = Task(64, 1.0)
    pairs = [
        Pair(task, sample(100, cpu=1.0, rss=5), sample(50, cpu=2.0, rss=9)),
        Pair(task, sample(100, cpu=1.0, rss=7), sample(80, cpu=4.0, rss=8)),
        Pair(task, sample(200, cpu=1.0, rss=6), sample(40, cpu=2.0, rss=7)),
        Pair(Task(128, 1.0), sample(10), sample(5)),
        Pair(Task(64, 1.0, rate=1000), sample(1), sample(1)),
    ]
    found = throughputs(pairs)
    assert [each.size for each in found] == [64, 128]
    first = found[0]
    assert (first.relay, first.bridge) == (pytest.approx(100), pytest.approx(50))
    assert (first.ratio, first.least, first.most) == (
        pytest.approx(0.5),
        pytest.approx(0.2),
        pytest.approx(0.8),
    )
    assert first.cpu_ratio == pytest.approx(0.5)
    assert (first.relay_cpu_micros, first.bridge_cpu_micros) == (1000, 2000)
    assert (first.relay_peak_rss, first.bridge_peak_rss) == (7, 9)


def test_added_latency_is_the_median_of_the_differences_within_pairs() -> None:
    task = Task(64, 1.0, rate=1000)

    def late(*micros: int) -> Sample:
        return sample(1000, lateness=tuple(each * 1000 for each in micros))

    pairs = [
        Pair(task, late(10, 20, 30), late(110, 220, 330)),
        Pair(task, late(1, 2, 3), late(11, 12, 13)),
        Pair(task, late(100, 100, 100), late(400, 400, 400)),
        Pair(Task(64, 1.0), sample(1), sample(1)),
    ]
    half, most, last = latencies(pairs)
    assert (half.percent, half.relay, half.bridge, half.added) == (50, 20, 220, 200)
    assert (most.percent, most.relay, most.bridge, most.added) == (99, 30, 330, 300)
    assert (last.percent, last.added) == (99.9, 300)
    assert half.rate == 1000
