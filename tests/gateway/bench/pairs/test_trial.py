"""Whole trials, with their processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.gateway.bench.pairs import trial
from fleetgate.gateway.bench.pairs.load import Work
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed


@pytest.mark.parametrize("kind", Kind)
async def test_a_trial_ends_with_a_sample_of_every_event_and_leaves_nothing(
    kind: Kind, tmp_path: Path
) -> None:
    sample = await trial.run_pair(kind, "rvbox", "agency", Work(2, 100, 64), tmp_path)
    assert (sample.events, sample.arrived) == (100, 6400)
    assert sample.seconds > 0
    assert os.listdir(tmp_path) == []


async def test_a_subject_that_cannot_start_fails_the_trial_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_SUBJECT", "fleetgate.gateway.bench.no_such_module")
    with pytest.raises(BenchFailed, match="relay from agency to agency") as raised:
        await trial.run_pair(Kind.RELAY, "agency", "agency", Work(0, 1), tmp_path)
    assert "no_such_module" in str(raised.value)
