"""The kit for agency daemons as a whole: ours meets it, and no stranger does."""

from __future__ import annotations

from trio.testing import MockClock

from fleetgate.gateway.tck.proving import check_nobody_passes, try_all, unmet
from fleetgate.gateway.tck.runner import Runner, Verdict

DIVERGES = {"AGENCY-D-013", "AGENCY-D-053"}
"""No musts: where ours does otherwise, docs/divergence/agency.md says so and why."""


async def test_our_daemon_meets_every_requirement(
    daemon: Runner, autojump_clock: MockClock
) -> None:
    results = await try_all(daemon)
    assert set(unmet(results)) == DIVERGES, unmet(results)
    assert {r.verdict for r in results.values()} == {Verdict.PASS, Verdict.FAIL}
    assert all(result.frames for result in results.values())


async def test_nobody_meets_a_requirement(daemon: Runner, autojump_clock: MockClock) -> None:
    await check_nobody_passes(daemon, [b"\0{}", b"\xff\0"])
