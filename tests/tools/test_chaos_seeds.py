"""`just chaos-seeds`: which trials are played, what is said of them, and when it is not content."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest
from tool_loading import load_tool

seeds = load_tool("chaos_seeds")


class Trial:
    """What a trial comes to where nothing is played: a run of a seed, a problem of seed 3."""

    def __init__(self, pair: str, seed: str, twisted: bool) -> None:
        self.tally = seeds.Tally(runs=1, events=2)
        self.problems = ["it is wrong"] if seed == "3" else []
        self._name = f"{pair} {seed} {twisted}"

    def report(self) -> str:
        return f"wrong: {self._name}"


@pytest.fixture(autouse=True)
def unplayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool's processes are forked: they have it too."""

    def try_seed(pair: str, seed: str, *, twisted: bool = False) -> Trial:
        if seed == "raises":
            raise ValueError("a fault")
        while seed == "endless":
            with suppress(Exception):
                time.time_ns()
        return Trial(pair, seed, twisted)

    monkeypatch.setattr(seeds, "try_seed", try_seed)


def test_trials_go_round_the_pairs_and_every_tenth_seed_is_twisted() -> None:
    asked = list(islice(seeds.trials(8), 32))
    assert asked[:2] == [("agency-agency", "8", False), ("agency-rvbox", "8", False)]
    assert {pair for pair, _, _ in asked[:16]} == set(seeds.PAIRS)
    assert len(seeds.PAIRS) == 16
    assert asked[16] == ("agency-agency", "9", True)


def test_what_held_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert seeds.main(["20"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("20 of 20 trials, 0 did not hold; 20 runs")
    assert out.count("\n") == 1


def test_a_trial_that_did_not_hold_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert seeds.main(["2", "--from", "3", "--pair", "iop-kodelet"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("wrong: iop-kodelet 3 False\n\n2 of 2 trials, 1 did not hold")


def test_one_seed_is_played_alone_or_for_each_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert seeds.main(["--pair", "rvbox-iop", "--seed", "x", "--twisted"]) == 0
    assert seeds.main(["--seed", "x"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("1 of 1 trials")
    assert second.startswith("16 of 16 trials")


def test_what_raises_did_not_hold_and_the_round_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert seeds.main(["--pair", "rvbox-iop", "--seed", "raises", "--twisted"]) == 1
    out = capsys.readouterr().out
    assert "ValueError: a fault\n" in out
    assert "just chaos-seeds --pair rvbox-iop --seed raises --twisted\n" in out
    assert seeds.main(["--seed", "raises"]) == 1
    assert "16 of 16 trials, 16 did not hold" in capsys.readouterr().out


def test_what_comes_to_no_end_did_not_hold_and_is_shown_where_it_was() -> None:
    tally, report = seeds.play(("iop-agency", "endless", False), 0.05)
    assert tally.runs == 0
    assert "in try_seed\n" in report
    assert "not over after 0.05 s of a processor\n" in report
    assert report.endswith("just chaos-seeds --pair iop-agency --seed endless")


def test_enough_trials_that_saw_too_little_prove_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert seeds.main([str(seeds.LEAST), "--from", "100"]) == 1
    out = capsys.readouterr().out
    assert f"vacuous: {seeds.LEAST} runs, and at least 1000 are needed\n" in out
    assert "vacuous: no kill in commit, before\n" in out
    assert "0 did not hold" in out


def test_a_round_ends_when_its_time_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert seeds.main(["100", "--within", "0"]) == 0
    assert capsys.readouterr().out.startswith("1 of 100 trials")


def test_a_pair_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        seeds.main(["--pair", "iop-smtp"])
    assert end.value.code == 2
    assert "invalid choice: 'iop-smtp'" in capsys.readouterr().err


def test_play_answers_what_there_was() -> None:
    tally, report = seeds.play(("iop-iop", "1", False))
    assert (tally.runs, report) == (1, "")
    said: Any = seeds.play(("iop-iop", "3", True))[1]
    assert said == "wrong: iop-iop 3 True"
