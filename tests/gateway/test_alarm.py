"""One moment to wait for."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from fleetgate.core.hub_testing import TrioClock
from fleetgate.core.timers import Timers
from fleetgate.core.times import SECOND
from fleetgate.gateway.alarm import Alarm


async def test_it_rings_once_at_the_newest_moment_and_may_be_set_again(
    autojump_clock: MockClock,
) -> None:
    clock, rung = TrioClock(), list[int]()
    timers, start = Timers(clock), clock()

    def ring() -> None:
        rung.append(round((clock() - start) / SECOND))
        if len(rung) < 3:
            alarm.set(clock() + 5 * SECOND)

    alarm = Alarm(timers.at, ring)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        await trio.sleep(1)
        alarm.set(start + 100 * SECOND)
        alarm.set(start + 10 * SECOND)
        await trio.sleep(200)
        assert rung == [10, 15, 20]
        alarm.set(start)
        await trio.sleep(1)
        assert len(rung) == 4
        now = clock()
        alarm.set(now + 10 * SECOND)
        await trio.sleep(5)
        alarm.set(now + 20 * SECOND)
        alarm.set(now + 15 * SECOND)
        await trio.sleep(9)
        assert len(rung) == 4
        await trio.sleep(2)
        assert len(rung) == 5
        assert not len(timers)
        alarm.set(clock() + SECOND)
        alarm.stop()
        await trio.sleep(2)
        assert len(rung) == 5
        nursery.cancel_scope.cancel()


async def test_whatever_clock_its_setter_goes_by_it_rings_and_does_not_spin(
    autojump_clock: MockClock,
) -> None:
    clock, rung = TrioClock(), list[int]()
    timers, behind = Timers(clock), clock() - 100 * SECOND
    alarm = Alarm(timers.at, lambda: rung.append(clock()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        alarm.set(behind + SECOND)
        alarm.set(behind + 2 * SECOND)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert len(rung) == 1
