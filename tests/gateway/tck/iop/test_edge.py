"""The kit for edges as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_nobody_passes, try_all, unmet
from fleetgate.gateway.tck.runner import Runner

ELSEWHERE = {"IOP-E-012", "IOP-E-208"}
"""They need a WebSocket, and gRPC: test_edge_link.py and test_edge_control.py have those."""


async def test_our_edge_meets_every_requirement(edge: Runner, autojump_clock: MockClock) -> None:
    results = await try_all(edge)
    assert set(unmet(results)) == ELSEWHERE, unmet(results)


async def test_nobody_meets_a_requirement(edge: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(edge, [b"", b"\xff\xff"])
