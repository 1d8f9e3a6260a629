"""What a load measures."""

from __future__ import annotations

import os

from fleetgate.gateway.bench.pairs.load import Meter, PairSample


async def test_a_meter_waits_for_the_end() -> None:
    meter = Meter(os.getpid(), 50)
    meter.begin()
    meter.arrived += 7
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
