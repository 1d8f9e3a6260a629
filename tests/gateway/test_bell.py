"""What one task waits for, again and again."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.bell import Bell


async def test_it_wakes_who_waits_and_is_not_remembered() -> None:
    bell, heard = Bell(), list[int]()

    async def listen() -> None:
        for number in range(2):
            await bell.wait()
            heard.append(number)

    bell.ring()  # nobody waits
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        await wait_all_tasks_blocked()
        assert heard == []
        bell.ring()
        bell.ring()
        await wait_all_tasks_blocked()
        assert heard == [0]
        bell.ring()
    assert heard == [0, 1]


async def test_whoever_was_cancelled_is_not_woken_and_leaves_room() -> None:
    bell = Bell()
    with trio.move_on_after(0) as scope:
        await bell.wait()
    assert scope.cancelled_caught
    bell.ring()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bell.wait)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await bell.wait()
        bell.ring()
