"""What happens once."""

from __future__ import annotations

import trio
from trio.testing import assert_checkpoints, wait_all_tasks_blocked

from fleetgate.gateway.latch import Latch


async def test_whoever_waits_waits_until_it_has_happened() -> None:
    latch = Latch()
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(latch.wait)
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 2
        assert not latch.is_set()
        latch.set()
    assert latch.is_set()


async def test_it_stays_so() -> None:
    latch = Latch()
    latch.set()
    latch.set()
    with assert_checkpoints():
        await latch.wait()


async def test_whoever_leaves_leaves_the_others_waiting() -> None:
    latch = Latch()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(latch.wait)
        with trio.move_on_after(0):
            await latch.wait()
        await wait_all_tasks_blocked()
        assert nursery.child_tasks
        latch.set()
