"""One whole trial of each subject, with its processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.gateway.bench import subjects
from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed, Task
from fleetgate.gateway.bench.trial import run_trial


@pytest.mark.parametrize("kind", Kind)
async def test_a_trial_ends_with_a_sample_of_every_event_and_leaves_nothing(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sample = await run_trial(Trial(1, kind, Task(64, 60.0, events=200)), Path())
    assert sample.events == 200
    assert sample.seconds > 0
    assert sample.peak_rss > 1 << 20
    assert os.listdir(tmp_path) == []


async def test_a_subject_that_cannot_start_fails_the_trial_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subjects, "config_text", lambda *_: "[gateway]\nname = 5\n")
    trial = Trial(1, Kind.BRIDGE, Task(64, 60.0, events=200))
    with pytest.raises(BenchFailed) as raised:
        await run_trial(trial, tmp_path)
    assert str(raised.value).startswith("the gateway ended too early\nthe gateway last wrote:\n")
    assert "gateway.toml:2" in str(raised.value)
