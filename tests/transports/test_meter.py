from __future__ import annotations

import trio
from trio.testing import MockClock

from fleetgate.transports.api import LinkStatistics
from fleetgate.transports.meter import Meter


async def test_counts_what_crosses_and_when(autojump_clock: MockClock) -> None:
    meter = Meter()
    assert meter.snapshot() == LinkStatistics()
    start = trio.current_time()
    meter.received(0, 3)
    await trio.sleep(2)
    meter.received(2, 40)
    meter.sent(1, 7)
    await trio.sleep(2)
    meter.received(0, 0)
    assert meter.snapshot() == LinkStatistics(
        bytes_in=43,
        bytes_out=7,
        frames_in=2,
        frames_out=1,
        last_in=start + 2,
        last_out=start + 2,
    )
