"""One run, and many who follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import fanout, subjects
from fleetgate.gateway.bench.fanout import FanoutPlan, FanoutSample
from fleetgate.gateway.bench.task import BenchFailed


@pytest.mark.slow
def test_every_follower_gets_every_event(tmp_path: Path) -> None:
    (sample,) = fanout.measure(tmp_path, FanoutPlan(followers=(3,), deliveries=1, rounds=1))
    assert (sample.followers, sample.deliveries) == (3, 600)
    assert sample.seconds > 0
    assert list(tmp_path.iterdir()) == []


def test_a_gateway_that_does_not_start_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subjects, "config_text", lambda *_: "[gateway]\nname = 5\n")
    with pytest.raises(BenchFailed, match="a trial with 1 followers failed") as raised:
        fanout.measure(tmp_path, FanoutPlan(followers=(1,), rounds=1))
    assert "gateway.toml:2" in str(raised.value)


def test_figures_are_by_the_delivery() -> None:
    samples = [FanoutSample(10, 1000, seconds, 0.005) for seconds in (1.0, 2.0, 4.0)]
    (figure,) = fanout.sum_up(samples)
    assert fanout.row(figure) == ("10", "500", "5.0")
