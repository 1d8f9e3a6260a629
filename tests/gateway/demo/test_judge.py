"""The judge: a good run passes, and every way to go wrong is found."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fleetgate.gateway.demo.cases import CASES, STDIN, TICKER
from fleetgate.gateway.demo.judge import judge


def lines_of(case: Any) -> list[dict[str, Any]]:
    """What the client prints of a run that went well."""
    texts = case.text.splitlines(keepends=True)
    lines: list[dict[str, Any]] = [{"type": "RunAssigned"}]
    lines += [{"type": "TextProduced", "text": text} for text in texts]
    lines.append({"type": "RunFinished", "outcome": {"state": case.state}})
    for number, line in enumerate(lines):
        line["seq"] = number + 1
        if number:
            line["native_seq"] = number
    return lines


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_run_that_went_well_is_good(case: Any) -> None:
    judgement = judge(case, lines_of(case), executed=1)
    assert judgement.good, judgement.problems
    assert (judgement.lost, judgement.duplicated) == (0, 0)


def test_a_missing_event_is_lost() -> None:
    lines = lines_of(TICKER)
    del lines[5]
    judgement = judge(TICKER, lines, executed=1)
    assert judgement.lost == 1
    assert not judgement.good


def test_an_event_that_came_twice_is_duplicated() -> None:
    lines = lines_of(TICKER)
    lines.insert(5, lines[5])
    judgement = judge(TICKER, lines, executed=1)
    assert judgement.duplicated == 1
    assert not judgement.good


def test_a_command_that_was_executed_twice_or_never_is_found() -> None:
    for executed in (0, 2):
        judgement = judge(STDIN, lines_of(STDIN), executed)
        assert f"executed the command {executed} times" in judgement.problems[-1]
        assert judgement.duplicated == max(0, executed - 1)


def test_events_out_of_order_are_found() -> None:
    lines = lines_of(TICKER)
    middle = lines[1:-1]
    random.Random(1).shuffle(middle)
    judgement = judge(TICKER, [lines[0], *middle, lines[-1]], executed=1)
    assert any("out of order" in problem for problem in judgement.problems)
    assert any("1, 2, 3" in problem for problem in judgement.problems)


def test_other_text_and_another_end_are_found() -> None:
    lines = lines_of(STDIN)
    lines[2]["text"] = "other\n"
    lines[-1]["outcome"]["state"] = "lost"
    problems = judge(STDIN, lines, executed=1).problems
    assert len(problems) == 2
    assert "ended lost" in problems[1]


def test_nothing_at_all_is_not_good() -> None:
    problems = judge(STDIN, [], executed=1).problems
    assert "not seen at all" in problems[0]
    assert "not at all" in problems[-1]
