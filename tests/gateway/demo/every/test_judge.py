"""Judging one run of a pair."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.gateway.demo.every.judge import end_of, judge, said_in
from fleetgate.gateway.demo.every.scenes import TICKER, Scene
from fleetgate.gateway.demo.every.speakers import PAIRS

LASTING = next(pair for pair in PAIRS if pair.resumes)
PASSING = next(pair for pair in PAIRS if not pair.resumes)
SCENE = Scene("word", 3, cut=True)


def lines(text: str, *ends: str) -> list[dict[str, Any]]:
    said = [{"type": "TextProduced", "text": each} for each in text.splitlines(keepends=True)]
    end = [{"type": "RunFinished", "outcome": {"state": state}} for state in ends]
    return [{**each, "seq": at} for at, each in enumerate([*said, *end], 1)]


def test_all_of_it_once_and_one_end_is_good() -> None:
    verdict = judge(LASTING, SCENE, lines(SCENE.text, "succeeded"))
    assert (verdict.good, verdict.lost, verdict.duplicated, verdict.events) == (True, 0, 0, 4)


@pytest.mark.parametrize(
    ("text", "ends", "lost", "duplicated", "words"),
    [
        ("word 0\nword 2\n", ("succeeded",), 1, 0, "1 line(s) are missing"),
        ("word 0\nword 0\nword 1\nword 2\n", ("succeeded",), 0, 1, "came twice"),
        ("word 1\nword 0\nword 2\n", ("succeeded",), 0, 0, "not what was to be said"),
        (SCENE.text, (), 0, 0, "not at all"),
        (SCENE.text, ("lost",), 0, 0, "succeeded"),
        (SCENE.text, ("succeeded", "succeeded"), 0, 0, "must end once"),
    ],
)
def test_what_is_wrong_is_said(text, ends, lost: int, duplicated: int, words: str) -> None:
    verdict = judge(LASTING, SCENE, lines(text, *ends))
    assert (verdict.lost, verdict.duplicated) == (lost, duplicated)
    assert any(words in problem for problem in verdict.problems)


def test_a_run_that_cannot_be_taken_up_again_is_lost_and_says_nothing_twice() -> None:
    assert judge(PASSING, SCENE, lines("word 0\n", "lost")).good
    assert judge(PASSING, SCENE, lines("word 0\n", "failed")).good
    assert not judge(PASSING, SCENE, lines("word 0\nword 0\n", "lost")).good
    assert not judge(PASSING, SCENE, lines(SCENE.text, "succeeded")).good


def test_numbers_that_are_not_the_next_are_seen() -> None:
    odd = lines(SCENE.text, "succeeded")
    odd[1]["seq"] = 7
    assert any("sequence" in problem for problem in judge(LASTING, SCENE, odd).problems)


def test_output_counts_as_what_was_said_and_an_open_run_has_no_end() -> None:
    said = [{"type": "OutputProduced", "text": "a"}, {"type": "Diagnosed", "text": "b"}]
    assert said_in(said) == "a"
    assert end_of(said) is None
    assert TICKER.cut
