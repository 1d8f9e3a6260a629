"""The kit for kodelet runners as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_nobody_passes, try_all, unmet
from fleetgate.gateway.tck.runner import Runner

NEED_WEBSOCKET = {"KODELET-R-019", "KODELET-R-401", "KODELET-R-402"}
"""Proven in test_envelope.py and test_life.py."""


async def test_our_runner_meets_every_requirement(
    runner: Runner, autojump_clock: MockClock
) -> None:
    results = await try_all(runner)
    assert set(unmet(results)) == NEED_WEBSOCKET, unmet(results)


async def test_nobody_meets_a_requirement(runner: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(runner, [b"{}", b"\xff"])
