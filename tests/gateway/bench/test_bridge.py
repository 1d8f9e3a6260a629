"""The bridge's trials, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench import bridge
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.plan import PLAN, Plan, Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed, Task


class Trials:
    """Answers trials without running them."""

    def __init__(self) -> None:
        self.seen: list[Trial] = []
        self.failing: Task | None = None

    async def run(self, trial: Trial, disk: Path) -> Sample:
        self.seen.append(trial)
        if trial.task == self.failing:
            raise BenchFailed("the gateway ended too early")
        seconds = {Kind.PLAIN: 4.0, Kind.RELAY: 1.0, Kind.BRIDGE: 2.0}[trial.kind]
        return Sample(1000, 1, seconds, seconds, 1 << 20, (1000,) if trial.task.rate else ())


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Trials:
    made = Trials()
    monkeypatch.setattr(bridge, "run_trial", made.run)
    return made


def test_last_comes_half_of_what_was_carried(
    trials: Trials, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = bridge.measure(tmp_path, PLAN, Losses())
    expected = list(PLAN.trials())
    assert trials.seen == [*expected, *PLAN.last(expected[-1].pair + 1, 500.0)]
    assert [trial for trial, _ in samples] == trials.seen
    assert trials.seen[-1].task.rate == 250
    said = capsys.readouterr().err
    assert "pair 1, relay 64 bytes: 1000 events/s\n" in said
    assert "bridge 64 bytes: 500 events/s, ratio 0.50\n" in said


def test_a_trial_that_fails_costs_the_others_nothing(trials: Trials, tmp_path: Path) -> None:
    plan, losses = Plan(sizes=(64, 128), pairs=1, rates=(), half=False), Losses()
    trials.failing = Task(64, plan.seconds)
    samples = bridge.measure(tmp_path, plan, losses)
    assert [trial.task.size for trial, _ in samples] == [128] * 3
    assert losses.lines == [
        f"{kind}, 64 bytes: the gateway ended too early"
        for kind in ("plain relay", "relay", "bridge")
    ]


def test_a_trial_has_a_name() -> None:
    assert bridge.name_of(Trial(1, Kind.RELAY, Task(64, 1.0))) == "relay, 64 bytes"
    paced = Trial(1, Kind.BRIDGE, Task(64, 1.0, 100))
    assert bridge.name_of(paced) == "bridge, 64 bytes at 100 a second"
