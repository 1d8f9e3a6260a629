"""One run, and many who follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import fanout, subjects
from fleetgate.gateway.bench.fanout import FanoutPlan, FanoutSample
from fleetgate.gateway.bench.losses import Losses


@pytest.mark.slow
def test_every_follower_gets_every_event(tmp_path: Path) -> None:
    (sample,) = fanout.measure(
        tmp_path, FanoutPlan(followers=(3,), deliveries=1, rounds=1), Losses()
    )
    assert (sample.followers, sample.deliveries) == (3, 600)
    assert sample.seconds > 0
    assert list(tmp_path.iterdir()) == []


def test_a_gateway_that_does_not_start_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(subjects, "config_text", lambda *_: "[gateway]\nname = 5\n")
    losses = Losses()
    assert fanout.measure(tmp_path, FanoutPlan(followers=(1,), rounds=1), losses) == []
    (line,) = losses.lines
    assert line.startswith("1 followers: a trial with 1 followers failed")
    assert "gateway.toml:2" in capsys.readouterr().err


def test_figures_are_by_the_delivery() -> None:
    samples = [FanoutSample(10, 1000, seconds, 0.005) for seconds in (1.0, 2.0, 4.0)]
    few, many = fanout.sum_up([FanoutSample(1, 100, 1.0, 0.001), *samples])
    assert fanout.row(few) == ("1", "100", "100 to 100", "10.0", "1.00")
    assert fanout.row(many) == ("10", "500", "250 to 1000", "5.0", "0.50")
