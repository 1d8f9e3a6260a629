"""How far a load host runs ahead."""

from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.bench.window import Window


async def test_I9_a_full_window_waits_until_something_is_acknowledged() -> None:
    window = Window(10)
    assert await window.room() == 10
    window.sent(10)
    got: list[int] = []

    async def ask() -> None:
        got.append(await window.room())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        assert got == []
        window.acknowledge(4)
    assert got == [4]


async def test_an_older_acknowledgement_takes_nothing_back() -> None:
    window = Window(10)
    window.sent(10)
    window.acknowledge(8)
    window.acknowledge(3)
    assert await window.room() == 8
