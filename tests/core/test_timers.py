"""Deadlines."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from fleetgate.core.hub_testing import TrioClock
from fleetgate.core.timers import Timers
from fleetgate.core.times import SECOND


async def test_deadlines_fire_in_the_order_of_their_time_and_once(
    autojump_clock: MockClock,
) -> None:
    clock = TrioClock()
    timers = Timers(clock)
    fired: list[str] = []
    start = clock()
    timers.at(start + 3 * SECOND, lambda: fired.append("late"))
    canceled = timers.at(start + 2 * SECOND, lambda: fired.append("never"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        await trio.sleep(1)
        early = timers.at(start + 2 * SECOND, lambda: fired.append("early"))
        timers.at(start, lambda: fired.append("overdue"))
        canceled.cancel()
        await trio.sleep(5)
        assert fired == ["overdue", "early", "late"]
        early.fire()
        early.cancel()
        timers.at(clock() + SECOND, lambda: fired.append("again"))
        await trio.sleep(2)
        nursery.cancel_scope.cancel()
    assert fired == ["overdue", "early", "late", "again"]


async def test_a_deadline_may_set_another(autojump_clock: MockClock) -> None:
    clock = TrioClock()
    timers = Timers(clock)
    fired: list[int] = []

    def again() -> None:
        fired.append(len(fired))
        if len(fired) < 3:
            timers.at(clock() + SECOND, again)

    timers.at(clock(), again)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert fired == [0, 1, 2]


def test_I9_cancelled_deadlines_do_not_pile_up() -> None:
    timers = Timers(lambda: 0)
    for round_ in range(1000):
        timer = timers.at(10**18 + round_, lambda: None)
        timer.cancel()
        timer.cancel()
    assert len(timers) < 200
    live = [timers.at(n, lambda: None) for n in range(500)]
    for timer in live[:400]:
        timer.cancel()
    assert sum(timer.pending for timer in live) == 100
    assert len(timers) <= 200
