"""Which pairs are measured, and what their samples come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.pairs import measure
from fleetgate.gateway.bench.pairs.load import PairSample
from fleetgate.gateway.bench.pairs.measure import QUICK, SHOWN, SIZE, PairsPlan, PairTrial
from fleetgate.gateway.bench.pairs.places import PROTOCOLS
from fleetgate.gateway.bench.pairs.saying import Work
from fleetgate.gateway.bench.sample import Taken
from fleetgate.gateway.bench.subjects import Kind


def test_all_pairs_are_measured_and_in_a_hurry_each_protocol_on_each_side() -> None:
    plan = PairsPlan()
    assert len(plan.pairs) == 16
    trials = list(plan.trials())
    assert len(trials) == 16 * 4 * plan.rounds
    bridges = [(trial.north, trial.work) for trial in trials if trial.kind is Kind.BRIDGE]
    works = {(work.runs, work.each) for north, work in bridges if north != "kodelet"}
    assert works == {(1, plan.events), (64, plan.each)}
    assert {work.runs for north, work in bridges if north == "kodelet"} == {1, 64}
    assert all(work.each * SIZE <= SHOWN for north, work in bridges if north == "kodelet")
    assert {north for north, _ in QUICK.pairs} == {south for _, south in QUICK.pairs}
    assert {north for north, _ in QUICK.pairs} == set(PROTOCOLS)


def test_samples_come_to_ratios(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run(kind: Kind, north: str, south: str, work: Work, disk: Path) -> PairSample:
        slow = {Kind.PLAIN: 2, Kind.RELAY: 1, Kind.BRIDGE: 4}[kind]
        arrived = work.events * work.size // (2 if north == "agency" else 1)
        return PairSample(work.events, 1.0 * slow, 0.001 * slow * work.events, arrived)

    monkeypatch.setattr(measure, "run_pair", run)
    pairs = (("agency", "rvbox"), ("iop", "rvbox"))
    plan = PairsPlan(pairs=pairs, events=100, each=1, more=1, rounds=3)
    samples = measure.measure(tmp_path, plan, Losses())
    assert len(samples) == 24
    assert samples[0].trial == PairTrial(Kind.PLAIN, "agency", "rvbox", Work(0, 100))
    assert samples[1].trial == PairTrial(Kind.RELAY, "agency", "rvbox", Work(0, 100))
    figures = measure.sum_up(samples)
    assert [(f.north, f.runs, f.ratio, f.cpu_ratio) for f in figures] == [
        ("agency", 1, 0.25, 0.25),
        ("agency", 64, 0.25, 0.25),
        ("iop", 1, 0.25, 0.25),
        ("iop", 64, 0.25, 0.25),
    ]
    assert [f.whole for f in figures] == [False, False, True, True]
    assert {f.plain_ratio for f in figures} == {0.5}
    line = dict(zip(measure.HEAD, measure.row(figures[0]), strict=True))
    assert (line["controller"], line["ratio"], line["each by itself"]) == ("agency", "0.25", "no")
    assert (
        "bridge from iop to rvbox, 1 runs: 25 events/s, 4000.0 µs each" in capsys.readouterr().err
    )


def test_a_pair_without_a_relay_has_no_ratio(tmp_path: Path) -> None:
    bridge = PairTrial(Kind.BRIDGE, "agency", "rvbox", Work(1, 100))
    relay = PairTrial(Kind.RELAY, "agency", "rvbox", Work(0, 100))
    sample = PairSample(100, 1.0, 1.0, 25_600)
    assert measure.sum_up([Taken(bridge, sample)]) == []
    (figure,) = measure.sum_up([Taken(relay, sample), Taken(bridge, sample)])
    assert (figure.ratio, figure.plain_ratio) == (1.0, None)
    assert measure.row(figure)[3] == ""
