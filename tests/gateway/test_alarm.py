"""One moment to wait for."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from fleetgate.core.hub_testing import TrioClock
from fleetgate.core.times import SECOND
from fleetgate.gateway.alarm import Alarm


async def test_it_rings_once_at_the_newest_moment_and_may_be_set_again(
    autojump_clock: MockClock,
) -> None:
    clock = TrioClock()
    alarm, rung = Alarm(clock), []
    start = clock()

    def ring() -> None:
        rung.append(round((clock() - start) / SECOND))
        if len(rung) < 3:
            alarm.set(clock() + 5 * SECOND)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(alarm.run, ring)
        await trio.sleep(1)
        alarm.set(start + 100 * SECOND)
        alarm.set(start + 10 * SECOND)
        await trio.sleep(200)
        assert rung == [10, 15, 20]
        alarm.set(start)
        await trio.sleep(1)
        assert len(rung) == 4
        nursery.cancel_scope.cancel()
