"""The kit for nodes as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_nobody_passes, try_all, unmet
from fleetgate.gateway.tck.runner import Runner


async def test_our_node_meets_every_requirement(node: Runner, autojump_clock: MockClock) -> None:
    results = await try_all(node)
    assert not unmet(results), unmet(results)


async def test_nobody_meets_a_requirement(node: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(node, [b"", b"\xff\xff"])
