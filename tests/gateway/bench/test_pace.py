"""Ticks at a fixed rate: all of them, each with the time that it was due."""

from __future__ import annotations

from itertools import pairwise

from fleetgate.gateway.bench.pace import open_pace


async def test_every_tick_comes_once_and_they_are_evenly_spaced() -> None:
    times: list[int] = []
    async with open_pace(rate=1_000_000, count=5000) as pace:
        while due := await pace.due():
            times += due
    assert len(times) == 5000
    assert {later - earlier for earlier, later in pairwise(times)} == {1000}


async def test_whoever_leaves_early_leaves_nothing_behind() -> None:
    async with open_pace(rate=1, count=1_000_000) as pace:
        assert len(await pace.due()) == 1
