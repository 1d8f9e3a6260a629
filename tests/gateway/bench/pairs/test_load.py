"""What a load asks for and measures."""

from __future__ import annotations

import os

from fleetgate.gateway.bench.pairs.load import Meter, PairSample, Work


def test_the_events_are_shared_out_among_the_runs() -> None:
    assert Work(1, 100, 256).each == 100
    assert Work(64, 6400, 256).each == 100
    assert Work(64, 10, 256).each == 1


async def test_a_meter_waits_for_the_last_of_the_ends() -> None:
    meter = Meter(os.getpid(), 50, ends=2)
    meter.begin()
    meter.arrived += 7
    meter.end()
    assert not meter.done.is_set()
    meter.end()
    sample = await meter.sample()
    assert (sample.events, sample.arrived) == (50, 7)
    assert sample.seconds > 0
    assert sample.cpu_seconds >= 0


def test_figures_are_by_the_event() -> None:
    sample = PairSample(events=1000, seconds=2.0, cpu_seconds=0.01, arrived=0)
    assert sample.rate == 500
    assert sample.cpu_micros == 10
