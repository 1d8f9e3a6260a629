"""The kit for kodelet control planes as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import (
    check_nobody_asks,
    check_nobody_passes,
    try_all,
    unmet,
)
from fleetgate.gateway.tck.runner import Runner

ELSEWHERE = {"KODELET-C-103", "KODELET-C-105", "KODELET-C-019", "KODELET-C-401", "KODELET-C-402"}
"""They need HTTP, or a WebSocket: test_plane_upgrade.py has both, and test_life.py the last two."""


async def test_our_control_plane_meets_every_requirement(
    plane: Runner, autojump_clock: MockClock
) -> None:
    results = await try_all(plane)
    assert set(unmet(results)) == ELSEWHERE, unmet(results)


async def test_nobody_meets_a_requirement(plane: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(plane, [b"{}", b"\xff"])


async def test_what_nobody_can_ask_for_is_skipped_and_has_not_failed(
    plane: Runner, autojump_clock: MockClock
) -> None:
    assert await check_nobody_asks(plane)


async def test_a_call_that_nobody_can_give_up_is_not_missing_its_cancellation(
    plane: Runner, autojump_clock: MockClock
) -> None:
    assert "KODELET-C-313" in await check_nobody_asks(plane, "open", "tool")
