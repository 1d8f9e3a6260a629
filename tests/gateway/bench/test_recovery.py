"""How long a gateway takes to come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import recovery
from fleetgate.gateway.bench.recovery import EMPTY, FULL, REPLAY, RecoveryPlan, RecoverySample


@pytest.mark.slow
def test_both_starts_and_the_replay_are_measured(tmp_path: Path) -> None:
    plan = RecoveryPlan(events=200, replayed=100, open_runs=3, rounds=1)
    samples = recovery.measure(tmp_path, plan)
    assert [each.what for each in samples] == [EMPTY, FULL, REPLAY]
    assert all(each.taken > 0 for each in samples)
    assert list(tmp_path.iterdir()) == []


def test_rows_are_in_milliseconds() -> None:
    samples = [RecoverySample(REPLAY, taken * 10**6) for taken in (30, 10, 20)]
    assert recovery.rows(samples) == [(REPLAY, "20", "10")]
