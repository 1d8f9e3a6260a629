"""`gateway bench`: what it prints and what it keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.bench import cli, compare, document, parts, process, profile, results
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.parts import Measured
from fleetgate.gateway.bench.plan import QUICK
from fleetgate.gateway.bench.sample import Sample
from fleetgate.gateway.bench.sampler import Spot
from fleetgate.gateway.bench.task import BenchFailed


class Parts:
    """Parts that answer without measuring anything. Those of `failing` fail."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bool]] = []
        self.failing: dict[str, Exception] = {}
        self.losing: set[str] = set()
        """Those of which a trial came to nothing."""
        self.empty: set[str] = set()
        """Those that have no sample."""

    def make(self, name: str) -> Callable[[Path, bool], Measured]:
        def measure(disk: Path, quick: bool) -> Measured:
            self.seen.append((name, str(disk), quick))
            if name in self.failing:
                raise self.failing[name]
            lost = [f"a trial of {name}: too slow"] if name in self.losing else []
            samples = [] if name in self.empty else [Sample(1, 1, 1.0, 1.0, 1)]
            return Measured(QUICK, samples, [], f"the table of {name}", lost=lost)

        return measure

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.seen]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Parts:
    made, names = Parts(), ("bridge", "journal", "startup")
    monkeypatch.setattr(parts, "PARTS", {name: made.make(name) for name in names})
    monkeypatch.setattr(cli, "ALL", names)
    monkeypatch.setattr(results, "commit_of", lambda: "abc")
    monkeypatch.chdir(tmp_path)
    return made


def kept(path: Path) -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(path.read_text())["parts"]
    return parts


def test_all_parts_are_measured_said_and_kept(
    made: Parts, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["--quick"]) == 0
    assert made.seen == [(name, "bench/results", True) for name in cli.ALL]
    (path,) = Path("bench/results").iterdir()
    assert list(kept(path)) == list(cli.ALL)
    assert kept(path)["journal"]["machine"]["commit"] == "abc"
    assert kept(path)["journal"]["seconds"] >= 0
    said = capsys.readouterr().out
    assert said.index("## bridge") < said.index("the table of bridge") < said.index("## journal")
    assert "| aim | bound |" in said
    assert f"raw data: {path}\n" in said


@pytest.mark.parametrize("argv", [["journal"], ["--only", "journal"], ["journal", "journal"]])
def test_a_part_can_be_had_by_itself(argv: list[str], made: Parts) -> None:
    assert cli.run([*argv, "--json", "deep/er/result.json"]) == 0
    assert made.seen == [("journal", "deep/er", False)]
    assert list(kept(Path("deep/er/result.json"))) == ["journal"]
    assert not Path("bench").exists()


@pytest.mark.parametrize(
    "error", [BenchFailed("too early"), JournalError("no room"), OSError("no disk")]
)
def test_a_part_that_fails_costs_the_others_nothing(
    error: Exception, made: Parts, capsys: pytest.CaptureFixture[str]
) -> None:
    made.failing["journal"] = error
    assert cli.run(["--json", "result.json"]) == 1
    assert made.names == list(cli.ALL)
    assert list(kept(Path("result.json"))) == ["bridge", "startup"]
    said = capsys.readouterr().err
    assert f"gateway bench: journal: {error}\n" in said
    assert "without a result: journal; what there is, is kept: --resume result.json\n" in said


def test_what_is_there_stays_where_the_bench_is_ended(made: Parts) -> None:
    made.failing["startup"] = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        cli.run(["--json", "result.json"])
    assert list(kept(Path("result.json"))) == ["bridge", "journal"]


def test_a_bench_is_resumed_with_what_is_missing(
    made: Parts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made.failing["journal"] = BenchFailed("too early")
    assert cli.run(["--json", "result.json"]) == 1
    made.failing.clear()
    made.seen.clear()
    assert cli.run(["--resume", "result.json"]) == 0
    assert made.names == ["journal"]
    assert set(kept(Path("result.json"))) == set(cli.ALL)
    monkeypatch.setattr(results, "commit_of", lambda: "def")
    assert cli.run(["--resume", "result.json"]) == 1
    assert "has results of abc, and this is def" in capsys.readouterr().err


def test_a_part_of_which_no_trial_came_to_anything_has_no_result(
    made: Parts, capsys: pytest.CaptureFixture[str]
) -> None:
    made.losing, made.empty = {"journal"}, {"journal", "startup"}
    assert cli.run(["--json", "result.json"]) == 1
    assert set(kept(Path("result.json"))) == {"bridge", "startup"}, "startup lost nothing"
    said = capsys.readouterr().err
    assert "journal: no trial came to anything; a trial of journal: too slow\n" in said
    assert "without a result: journal;" in said


def test_a_part_that_lost_a_trial_is_measured_again(
    made: Parts, capsys: pytest.CaptureFixture[str]
) -> None:
    made.losing = {"journal"}
    assert cli.run(["--json", "result.json"]) == 0
    assert "trials of journal came to nothing; --resume result.json" in capsys.readouterr().err
    made.seen.clear()
    made.empty = {"journal"}
    assert cli.run(["--resume", "result.json"]) == 1
    assert made.names == ["journal"]
    assert len(kept(Path("result.json"))["journal"]["samples"]) == 1, (
        "what there was is still there"
    )
    made.losing, made.empty = set(), set()
    made.seen.clear()
    assert cli.run(["--resume", "result.json"]) == 0
    assert made.names == ["journal"]
    made.seen.clear()
    assert cli.run(["--resume", "result.json"]) == 0
    assert made.names == []


def test_where_the_raw_data_cannot_be_kept_it_says_how(
    made: Parts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bench").write_text("in the way")
    assert cli.run(["bridge", "--quick"]) == 1
    assert "--json FILE" in capsys.readouterr().err
    assert made.seen == []


def test_what_makes_no_sense_is_exit_code_2(
    made: Parts, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["nonsense"]) == 2
    assert "usage: gateway bench" in capsys.readouterr().err


def test_where_there_is_no_proc_it_says_so(
    made: Parts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "known", lambda: False)
    assert cli.run(["bridge"]) == 1
    assert capsys.readouterr().err == "gateway bench: needs Linux, whose /proc it reads\n"
    assert made.seen == []


def test_a_comparison_is_printed(
    made: Parts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def measure(
        base: str, disk: Path, plan: compare.ComparePlan, losses: Losses
    ) -> list[compare.Compared]:
        asked.append(base)
        sample = Sample(1000, 1, 1.0, 1.0, 1)
        return [compare.Compared(plan.tasks[0], sample, sample)]

    monkeypatch.setattr(compare, "measure", measure)
    assert cli.run(["--compare", "main", "--quick"]) == 0
    assert asked == ["main"]
    assert "| task | what | pairs | base | here |" in capsys.readouterr().out
    assert made.seen == []


def test_a_profile_of_one_pair_is_printed(
    made: Parts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(
        disk: Path, plan: profile.ProfilePlan, losses: Losses
    ) -> list[profile.ProfileSample]:
        ((north, south),) = plan.pairs
        spots = [Spot("core", "core.run.evolve", 0.5)]
        return [profile.ProfileSample(north, south, 1000, 1.0, spots)] if north == "iop" else []

    monkeypatch.setattr(profile, "measure", measure)
    assert cli.run(["--profile", "iop-rvbox", "--quick"]) == 0
    assert "| iop | rvbox | core | `core.run.evolve` | 500.0 |" in capsys.readouterr().out
    assert cli.run(["--profile", "agency-rvbox"]) == 1
    assert cli.run(["--profile", "agency"]) == 2
    assert "'agency' is not CONTROLLER-WORKER, each of agency, iop" in capsys.readouterr().err
    assert made.seen == []


def test_a_result_is_put_into_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(document, "write", lambda path: 3)
    monkeypatch.setattr(document, "unexplained", lambda path: [])
    assert cli.run(["--document", "a.json"]) == 0
    assert capsys.readouterr().out == f"3 tables of a.json are in {document.PAGE}\n"
    monkeypatch.setattr(document, "unexplained", lambda path: ["follower"])
    assert cli.run(["--document", "a.json"]) == 1
    assert "does not say what bounds follower" in capsys.readouterr().err
    monkeypatch.undo()
    assert cli.run(["--document", "no/such.json"]) == 1
    assert "no/such.json" in capsys.readouterr().err
