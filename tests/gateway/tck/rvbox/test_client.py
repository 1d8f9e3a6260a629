"""The kit for rvbox servers as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_nobody_passes, try_all, unmet
from fleetgate.gateway.tck.runner import Runner

NEEDS_WEBSOCKET = {"RVBOX-S-014"}
"""Proven in test_server_session.py, on one."""


async def test_our_server_meets_every_requirement(
    server: Runner, autojump_clock: MockClock
) -> None:
    results = await try_all(server)
    assert set(unmet(results)) == NEEDS_WEBSOCKET, unmet(results)


async def test_nobody_meets_a_requirement(server: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(server, [b"", b"\xff\xff"])
