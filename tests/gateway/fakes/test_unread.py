"""Lines that nobody has read yet."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.fakes.unread import Budget, Unread


def test_the_oldest_go_first_when_there_are_too_many() -> None:
    unread = Unread(2, Budget())
    for number in range(4):
        unread.put({"n": number})
    assert unread.left_out == 2
    assert unread.take() == [{"n": 2}, {"n": 3}]
    assert unread.take() == []


def test_I9_several_share_their_bytes_and_each_keeps_its_newest_line() -> None:
    budget = Budget(100)
    one, other = Unread(9, budget), Unread(9, budget)
    for size in (40, 40):
        one.put({"x": "x" * (size - 9)})
    assert budget.used == 80
    other.put({"x": "y" * 50})  # beyond the budget, and all that it has
    assert (len(one.take()), len(other.take()), budget.used) == (2, 1, 0)
    one.put({"x": "x" * 500})
    one.put({"x": "y" * 500})
    assert [line["x"][0] for line in one.take()] == ["y"]
    assert budget.used == 0


@pytest.mark.parametrize("how", ["a line", "woken"])
async def test_whoever_waits_is_woken(how: str) -> None:
    unread = Unread(2, Budget())
    over: list[str] = []

    async def wait() -> None:
        await unread.wait()
        over.append(how)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert over == []
        if how == "a line":
            unread.put({})
        else:
            unread.wake()
    assert over == [how]
    if how == "a line":
        await unread.wait()  # not at all, for it is there
