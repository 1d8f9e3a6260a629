"""The kit for rvbox hosts as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_nobody_passes, try_all, unmet
from fleetgate.gateway.tck.runner import Runner

NEEDS_WEBSOCKET = {"RVBOX-C-013"}


async def test_our_host_meets_every_requirement(host: Runner, autojump_clock: MockClock) -> None:
    results = await try_all(host)
    assert set(unmet(results)) == NEEDS_WEBSOCKET, unmet(results)


async def test_nobody_meets_a_requirement(host: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(host, [b"", b"\xff\xff"])
