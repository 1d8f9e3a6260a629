"""The kit for rvbox servers as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import (
    check_nobody_asks,
    check_nobody_passes,
    try_all,
    unmet,
)
from fleetgate.gateway.tck.runner import Runner

NEEDS_WEBSOCKET = {"RVBOX-S-014", "RVBOX-S-022"}
"""Proven in test_server_session.py, on one."""


async def test_our_server_meets_every_requirement(
    server: Runner, autojump_clock: MockClock
) -> None:
    results = await try_all(server)
    assert set(unmet(results)) == NEEDS_WEBSOCKET, unmet(results)


async def test_nobody_meets_a_requirement(server: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(server, [b"", b"\xff\xff"])


async def test_what_nobody_can_ask_for_is_skipped(
    server: Runner, autojump_clock: MockClock
) -> None:
    skipped = await check_nobody_asks(server, "run")
    assert skipped == NEEDS_WEBSOCKET | {"RVBOX-S-049", "RVBOX-S-050", "RVBOX-S-060"}


async def test_a_server_without_work_for_a_client_without_room_has_proven_nothing(
    server: Runner, autojump_clock: MockClock
) -> None:
    assert "RVBOX-S-042" in await check_nobody_asks(server)
