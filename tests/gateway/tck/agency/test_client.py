"""The kit for agency clients as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import (
    check_nobody_asks,
    check_nobody_passes,
    try_all,
    unmet,
)
from fleetgate.gateway.tck.runner import Runner


async def test_our_client_meets_every_requirement(
    client: Runner, autojump_clock: MockClock
) -> None:
    results = await try_all(client)
    assert unmet(results) == {}
    assert all(result.frames for result in results.values())


async def test_nobody_meets_a_requirement(client: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(client, [b"\0{}", b"\xff\0"])


async def test_what_nobody_can_ask_for_is_skipped_and_has_not_failed(
    client: Runner, autojump_clock: MockClock
) -> None:
    assert await check_nobody_asks(client)
