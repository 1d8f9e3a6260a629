"""Which pairs are measured, and what their samples come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench.pairs import measure
from fleetgate.gateway.bench.pairs.load import PairSample, Work
from fleetgate.gateway.bench.pairs.measure import QUICK, PairsPlan, PairTrial
from fleetgate.gateway.bench.pairs.places import PROTOCOLS
from fleetgate.gateway.bench.subjects import Kind


def test_all_pairs_are_measured_and_in_a_hurry_each_protocol_on_each_side() -> None:
    plan = PairsPlan()
    assert len(plan.pairs) == 16
    assert len(list(plan.trials())) == 16 * 3 * plan.rounds
    assert {north for north, _ in QUICK.pairs} == {south for _, south in QUICK.pairs}
    assert {north for north, _ in QUICK.pairs} == set(PROTOCOLS)


def test_samples_come_to_ratios(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run(kind: Kind, north: str, south: str, work: Work, disk: Path) -> PairSample:
        slow = 1 if kind is Kind.RELAY else 4
        arrived = work.events * work.size // (2 if north == "agency" else 1)
        return PairSample(work.events, 1.0 * slow, 0.001 * slow * work.events, arrived)

    monkeypatch.setattr(measure, "run_pair", run)
    plan = PairsPlan(pairs=(("agency", "rvbox"), ("iop", "rvbox")), events=100, more=1, rounds=3)
    samples = measure.measure(tmp_path, plan)
    assert len(samples) == 18
    assert samples[0][0] == PairTrial(Kind.RELAY, "agency", "rvbox", Work(0, 100))
    figures = measure.sum_up(samples)
    assert [(f.north, f.runs, f.ratio, f.cpu_ratio) for f in figures] == [
        ("agency", 1, 0.25, 0.25),
        ("agency", 64, 0.25, 0.25),
        ("iop", 1, 0.25, 0.25),
        ("iop", 64, 0.25, 0.25),
    ]
    assert [f.whole for f in figures] == [False, False, True, True]
    line = dict(zip(measure.HEAD, measure.row(figures[0]), strict=True))
    assert (line["controller"], line["ratio"], line["each by itself"]) == ("agency", "0.25", "no")
    assert "bridge from iop to rvbox: 25 events/s, 4000.0 µs each" in capsys.readouterr().err
