"""`gateway bench`: what it prints and what it keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.bench import cli, compare, document, parts, process
from fleetgate.gateway.bench.parts import Measured
from fleetgate.gateway.bench.plan import FULL, QUICK, Plan, Trial
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed


class Trials:
    """Answers trials without running them."""

    def __init__(self) -> None:
        self.seen: list[Trial] = []
        self.fails = False

    async def run(self, trial: Trial, disk: Path) -> Sample:
        self.seen.append(trial)
        if self.fails:
            raise BenchFailed("the gateway ended too early")
        seconds = 1.0 if trial.kind is Kind.RELAY else 2.0
        return Sample(1000, 1, seconds, seconds, 1 << 20, (1000,) if trial.task.rate else ())


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Trials:
    made = Trials()
    monkeypatch.setattr(cli, "run_trial", made.run)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.mark.parametrize(
    ("argv", "plan"), [(["bridge"], FULL), (["--only", "bridge", "--quick"], QUICK)]
)
def test_the_table_is_printed_and_the_raw_data_kept(
    argv: list[str], plan: Plan, trials: Trials, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(argv) == 0
    expected = list(plan.trials())
    assert trials.seen == [*expected, *plan.last(expected[-1].pair + 1, 500.0)]
    (kept,) = Path("bench/results").iterdir()
    assert len(json.loads(kept.read_text())["samples"]) == len(trials.seen)
    out, err = capsys.readouterr()
    assert f"raw data: {kept}" in out
    assert "| 256 | 1000 | 500 | 0.50 |" in out
    assert "relay 256 bytes: 1000 events/s\n" in err
    assert "bridge 256 bytes: 500 events/s, ratio 0.50\n" in err


def test_where_the_raw_data_cannot_be_kept_it_says_how(
    trials: Trials, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bench").write_text("in the way")
    assert cli.run(["bridge", "--quick"]) == 1
    assert "--json FILE" in capsys.readouterr().err
    assert trials.seen == []


def test_the_raw_data_goes_where_it_is_wanted(trials: Trials) -> None:
    assert cli.run(["bridge", "--quick", "--json", "deep/er/result.json"]) == 0
    assert json.loads(Path("deep/er/result.json").read_text())["throughput"]
    assert not Path("bench").exists()


def test_a_trial_that_fails_is_said_and_nothing_is_kept(
    trials: Trials, capsys: pytest.CaptureFixture[str]
) -> None:
    trials.fails = True
    assert cli.run(["bridge", "--quick"]) == 1
    assert capsys.readouterr().err == "gateway bench: the gateway ended too early\n"
    assert list(Path("bench/results").iterdir()) == []


def test_a_part_by_itself_is_said_and_kept_in_the_same_way(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[str, bool]] = []

    def measure(disk: Path, quick: bool) -> Measured:
        seen.append((str(disk), quick))
        return Measured(QUICK, [], [], "the table")

    monkeypatch.setattr(parts, "PARTS", {"journal": measure})
    assert cli.run(["journal", "--quick"]) == 0
    assert seen == [("bench/results", True)]
    (kept,) = Path("bench/results").iterdir()
    assert json.loads(kept.read_text())["part"] == "journal"
    assert f"the table\n\nraw data: {kept}\n" in capsys.readouterr().out
    assert trials.seen == []


def test_a_part_that_fails_is_said_and_nothing_is_kept(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(disk: Path, quick: bool) -> Measured:
        raise JournalError("no room for a journal")

    monkeypatch.setattr(parts, "PARTS", {"journal": measure})
    assert cli.run(["journal"]) == 1
    assert capsys.readouterr().err == "gateway bench: no room for a journal\n"
    assert list(Path("bench/results").iterdir()) == []


def test_what_makes_no_sense_is_exit_code_2(
    trials: Trials, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["nonsense"]) == 2
    assert "usage: gateway bench" in capsys.readouterr().err


def test_where_there_is_no_proc_it_says_so(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "known", lambda: False)
    assert cli.run(["bridge"]) == 1
    assert capsys.readouterr().err == "gateway bench: needs Linux, whose /proc it reads\n"
    assert trials.seen == []


def test_a_directory_that_cannot_be_made_is_said(
    trials: Trials, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bench").write_text("a file")
    assert cli.run(["bridge"]) == 1
    assert "gateway bench:" in capsys.readouterr().err
    assert trials.seen == []


def test_all_parts_are_measured_where_none_is_named(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = Measured(QUICK, [], [], "its table")
    monkeypatch.setattr(parts, "PARTS", {"journal": lambda disk, quick: measured})
    monkeypatch.setattr(cli, "ALL", ("bridge", "journal"))
    assert cli.run(["--quick"]) == 0
    (kept,) = Path("bench/results").iterdir()
    document = json.loads(kept.read_text())
    assert list(document["parts"]) == ["bridge", "journal"]
    assert document["parts"]["journal"]["part"] == "journal"
    said = capsys.readouterr().out
    assert said.index("## bridge") < said.index("| 256 |") < said.index("## journal")


def test_a_comparison_is_printed(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def measure(base: str, disk: Path, plan: compare.ComparePlan) -> list[compare.Compared]:
        asked.append(base)
        return []

    monkeypatch.setattr(compare, "measure", measure)
    assert cli.run(["--compare", "main", "--quick"]) == 0
    assert asked == ["main"]
    assert "| task | what | base | here |" in capsys.readouterr().out
    assert trials.seen == []


def test_a_result_is_put_into_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(document, "write", lambda path: 3)
    assert cli.run(["--document", "a.json"]) == 0
    assert capsys.readouterr().out == f"3 tables of a.json are in {document.PAGE}\n"
    monkeypatch.undo()
    assert cli.run(["--document", "no/such.json"]) == 1
    assert "no/such.json" in capsys.readouterr().err
