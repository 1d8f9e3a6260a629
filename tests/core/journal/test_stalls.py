"""A disk that says nothing: known after a while, and no longer than it lasts."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core.journal.stalls import HUNG_AFTER, LOOK_AGAIN, Stalls


@pytest.mark.limit("core/journal/stalls.HUNG_AFTER")
async def test_i9_so_long_may_nothing_be_committed_while_something_waits(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    stalls = Stalls()
    nursery.start_soon(stalls.watch, lambda: None)
    await trio.sleep(100)
    assert stalls.reason is None
    stalls.begin()
    await trio.sleep(HUNG_AFTER - 0.1)
    assert stalls.reason is None
    stalls.go_on()
    await trio.sleep(HUNG_AFTER - 0.1)
    assert stalls.reason is None
    stalls.go_on()
    await trio.sleep(2 * HUNG_AFTER)
    assert stalls.reason == "no commit has ended for 16 s"
    await trio.sleep(20)
    assert stalls.reason == "no commit has ended for 36 s"
    stalls.go_on()
    assert stalls.reason is None
    stalls.end()
    stalls.go_on()  # of a line that is empty
    await trio.sleep(100)
    assert stalls.reason is None


@pytest.mark.limit("core/journal/stalls.LOOK_AGAIN")
async def test_a_process_that_stood_still_in_a_commit_has_no_disk_that_hangs(
    mock_clock: MockClock, nursery: trio.Nursery
) -> None:
    """Found by `just chaos-seeds --pair agency-agency --seed 2041`: in the instant behind a leap of
    the clock whatever came was refused for good, beside a disk that did its work."""
    stalls, told = Stalls(), list[float]()
    nursery.start_soon(stalls.watch, lambda: told.append(trio.current_time()))
    await trio.testing.wait_all_tasks_blocked()
    for _ in range(3):
        stalls.begin()
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(1000)
        await trio.testing.wait_all_tasks_blocked()
        assert stalls.reason is None
        stalls.go_on()
        stalls.end()
        mock_clock.jump(LOOK_AGAIN)
        await trio.testing.wait_all_tasks_blocked()
    assert told == []
    stalls.begin()
    await trio.testing.wait_all_tasks_blocked()
    for leap in (1000, LOOK_AGAIN):
        mock_clock.jump(leap)
        await trio.testing.wait_all_tasks_blocked()
    assert told == [trio.current_time()]


async def test_a_process_that_stood_still_twice_in_a_commit_has_no_disk_that_hangs_either(
    mock_clock: MockClock, nursery: trio.Nursery
) -> None:
    """Found by `just chaos-seeds --pair kodelet-kodelet --seed 3105`: a clock leapt, and again
    before the commit, which had 2 ms to go, went on: so two looks found nothing committed."""
    stalls, told = Stalls(), list[float]()
    nursery.start_soon(stalls.watch, lambda: told.append(trio.current_time()))
    await trio.testing.wait_all_tasks_blocked()
    stalls.begin()
    for leap in (13.3, 9.9, 2 * LOOK_AGAIN):
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(leap)
    await trio.testing.wait_all_tasks_blocked()
    assert (stalls.reason, told) == (None, [])
    mock_clock.jump(LOOK_AGAIN)  # as long as it should be, and still nothing
    await trio.testing.wait_all_tasks_blocked()
    assert stalls.reason is not None
    assert told == [trio.current_time()]


async def test_whoever_watches_is_told_of_each_stall_and_seldom_wakes(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    stalls, told = Stalls(), list[float]()

    class Woken(trio.abc.Instrument):
        times = 0

        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            self.times += task is watcher

    nursery.start_soon(stalls.watch, lambda: told.append(trio.current_time()))
    await trio.testing.wait_all_tasks_blocked()
    (watcher,) = nursery.child_tasks
    woken = Woken()
    trio.lowlevel.add_instrument(woken)
    for _ in range(1000):  # a busy disk: some are in line, or none
        stalls.begin()
        await trio.sleep(0.02)
        stalls.go_on()
        await trio.sleep(0.02)
        stalls.end()
    assert (told, woken.times < 16) == ([], True)
    began = trio.current_time()
    stalls.begin()
    await trio.sleep(100)
    assert began + HUNG_AFTER <= told[0] <= began + 2 * HUNG_AFTER
    assert len(told) <= 100 / HUNG_AFTER
    stalls.end()
    told.clear()
    await trio.sleep(100)
    assert told == []
    stalls.begin()
    await trio.sleep(3 * HUNG_AFTER)
    assert told
    trio.lowlevel.remove_instrument(woken)
