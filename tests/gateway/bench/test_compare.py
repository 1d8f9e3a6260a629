"""This tree's gateway beside that of another commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.bench import compare
from fleetgate.gateway.bench.compare import Compared, ComparePlan, checked_out, revision_of
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed, Task

FREE, PACED = Task(256, 1.0), Task(256, 1.0, 1000)


def sample(rate: float, *micros: int) -> Sample:
    return Sample(1000, 1, 1000 / rate, 1.0, 1, tuple(each * 1000 for each in micros))


def test_base_and_here_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[tuple[Task, Path | None]] = []

    async def run(trial: Trial, disk: Path, source: Path | None = None) -> Sample:
        assert trial.kind is Kind.BRIDGE
        seen.append((trial.task, source))
        return sample(1000 if source else 2000, 1)

    monkeypatch.setattr(compare, "run_trial", run)
    found = compare.measure("HEAD", tmp_path, ComparePlan(tasks=(FREE, PACED), pairs=2), Losses())
    sources = [source for _, source in seen]
    first = ComparePlan().first
    assert [task for task, _ in seen] == [first, first, *[FREE, FREE, PACED, PACED] * 2]
    assert sources[1::2] == [None] * 5
    assert all(source is not None and source.name == "src" for source in sources[::2])
    assert not any(source is not None and source.exists() for source in sources)
    assert [each.here.rate / each.base.rate for each in found] == pytest.approx([2.0] * 4)


def test_the_base_is_there_while_it_is_measured() -> None:
    with checked_out("HEAD") as source:
        assert (source / "fleetgate" / "__init__.py").is_file()
        assert (source / "fleetgate" / "gateway" / "cli.py").is_file()


def test_a_revision_that_there_is_not_is_said() -> None:
    with pytest.raises(BenchFailed, match="git worktree add"), checked_out("no-such-thing"):
        pass


def test_a_result_file_stands_for_its_commit(tmp_path: Path) -> None:
    whole, changed = tmp_path / "whole", tmp_path / "changed"
    whole.write_text(json.dumps({"parts": {"bridge": {"machine": {"commit": "def"}}}}))
    changed.write_text(json.dumps({"parts": {"bridge": {"machine": {"commit": "abc+"}}}}))
    assert revision_of("main") == "main"
    assert revision_of(str(whole)) == "def"
    with pytest.raises(BenchFailed, match="of no commit that is as it was; name a revision"):
        revision_of(str(changed))
    several = {name: {"machine": {"commit": name}} for name in ("bridge", "pairs")}
    whole.write_text(json.dumps({"parts": several}))
    assert revision_of(str(whole)) == "bridge"
    whole.write_text(json.dumps({"parts": {"pairs": {"machine": {"commit": "def"}}}}))
    with pytest.raises(BenchFailed, match="no part `bridge` to compare with; name a revision"):
        revision_of(str(whole))


def test_rows_have_the_median_of_the_ratios() -> None:
    pairs = [(100.0, 200.0), (100.0, 300.0), (200.0, 200.0)]
    found = [Compared(FREE, sample(base), sample(here)) for base, here in pairs]
    slow = [Compared(PACED, sample(1000, 10, 40), sample(1000, 5, 10))]
    lines = compare.rows([*found, *slow])
    rate = ("256 bytes", "events/s", "3", "100.0", "200.0", "2.00", "1.00 to 3.00", "open")
    late = ("256 bytes, 1000/s", "p50, µs", "1", "10.0", "5.0", "0.50", "0.50 to 0.50", "open")
    assert (lines[1], lines[3]) == (rate, late)
    assert lines[4][5] == "0.25"
    assert {len(line) for line in lines} == {len(compare.HEAD)}


def test_a_pair_of_which_one_fails_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def run(trial: Trial, disk: Path, source: Path | None = None) -> Sample:
        if source is None and trial.task == FREE:
            raise BenchFailed("too slow")
        return sample(1000, 1)

    losses = Losses()
    monkeypatch.setattr(compare, "run_trial", run)
    found = compare.measure("HEAD", tmp_path, ComparePlan(tasks=(FREE, PACED), pairs=1), losses)
    assert [each.task for each in found] == [PACED]
    said = compare.to_text(found, losses.lines)
    assert "No result, tried twice: here, 256 bytes: too slow. Its pair is left out.\n" in said
    assert "No pair has two results.\n" in compare.to_text([], losses.lines)


def test_a_base_that_cannot_be_measured_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun: list[Path | None] = []

    async def run(trial: Trial, disk: Path, source: Path | None = None) -> Sample:
        begun.append(source)
        raise BenchFailed("the gateway ended too early")

    monkeypatch.setattr(compare, "run_trial", run)
    with pytest.raises(BenchFailed, match="the base cannot be measured by this tree's bench: the"):
        compare.measure("HEAD", tmp_path, ComparePlan(), Losses())
    assert len(begun) == 1


@pytest.mark.parametrize(
    ("ratios", "open"),
    [
        ([1.3] * 5, True),
        ([1.3] * 6, False),
        ([0.9] * 6, False),
        ([*[1.3] * 9, 0.99], True),
        ([*[1.3] * 9, 1.0], True),
    ],
)
def test_few_pairs_and_pairs_that_differ_show_nothing(ratios: list[float], open: bool) -> None:
    assert (compare.verdict(ratios) == compare.OPEN) is open
    assert ComparePlan().pairs >= compare.SIDE


@pytest.mark.parametrize(("pairs", "few"), [(1, True), (9, True), (10, False)])
def test_few_pairs_are_said_to_be_few(pairs: int, few: bool) -> None:
    found = [Compared(FREE, sample(100), sample(100))] * pairs
    said = compare.to_text(found, ())
    assert (f"the median of at least {pairs} pairs' ratios. That is few" in said) is few
