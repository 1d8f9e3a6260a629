"""The clock follows trio's, so that virtual time is virtual."""

from __future__ import annotations

import time
from typing import Any

import pytest
import trio
import trio.testing

from fleetgate.gateway.clock import Clock


async def test_it_goes_as_trio_does(autojump_clock: trio.testing.MockClock) -> None:
    clock = Clock()
    before = clock()
    await trio.sleep(3600.25)
    assert clock() - before == 3_600_250_000_000


async def test_it_starts_at_the_wall_clock_and_ignores_it_from_then_on(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    clock = Clock()
    assert clock() == 1_700_000_000_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    await trio.sleep(1)
    assert clock() == 1_700_000_001_000_000_000


async def test_it_never_falls(mock_clock: Any) -> None:
    clock = Clock()
    seen = [clock()]
    for step in (0.1, 1e-9, 1e-6, 1e7, 3e-9):
        mock_clock.jump(step)
        seen.append(clock())
    assert seen == sorted(seen)
