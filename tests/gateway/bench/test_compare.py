"""This tree's gateway beside that of another commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.bench import compare
from fleetgate.gateway.bench.compare import Compared, ComparePlan, checked_out, revision_of
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
    found = compare.measure("HEAD", tmp_path, ComparePlan(tasks=(FREE, PACED), pairs=2))
    sources = [source for _, source in seen]
    assert [task for task, _ in seen] == [FREE, FREE, PACED, PACED] * 2
    assert sources[1::2] == [None] * 4
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
    one, several, changed = (tmp_path / name for name in ("one", "several", "changed"))
    one.write_text(json.dumps({"machine": {"commit": "abc"}}))
    several.write_text(json.dumps({"parts": {"bridge": {"machine": {"commit": "def"}}}}))
    changed.write_text(json.dumps({"machine": {"commit": "abc+"}}))
    assert revision_of("main") == "main"
    assert revision_of(str(one)) == "abc"
    assert revision_of(str(several)) == "def"
    with pytest.raises(BenchFailed, match="name a revision"):
        revision_of(str(changed))


def test_rows_have_the_median_of_the_ratios() -> None:
    pairs = [(100.0, 200.0), (100.0, 300.0), (200.0, 200.0)]
    found = [Compared(FREE, sample(base), sample(here)) for base, here in pairs]
    late = [Compared(PACED, sample(1000, 10, 40), sample(1000, 5, 10))]
    lines = compare.rows([*found, *late])
    assert lines[1] == ("256 bytes", "events/s", "100.0", "200.0", "2.00", "1.00 to 3.00")
    assert lines[3] == ("256 bytes, 1000/s", "p50, µs", "10.0", "5.0", "0.50", "0.50 to 0.50")
    assert lines[4][4] == "0.25"
    assert {len(line) for line in lines} == {len(compare.HEAD)}
