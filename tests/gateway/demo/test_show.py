"""What the audience sees."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from fleetgate.gateway.demo.cases import CASES, TICKER
from fleetgate.gateway.demo.judge import Judgement
from fleetgate.gateway.demo.show import JsonShow, TextShow, summary_of

GOOD = [Judgement(case, 10) for case in CASES]
BAD = [*GOOD[1:], Judgement(CASES[0], 9, lost=1, problems=("one is missing",))]
END = {"type": "RunFinished", "outcome": {"state": "succeeded"}}


def test_the_summary_is_the_last_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    show = JsonShow()
    with show.live():
        show.say("hello")
        show.event(TICKER, {"event": "run", "run": "ticker"})
    show.end(GOOD, 1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {"event": "demo", "text": "hello"}
    assert lines[-1] == {
        "event": "summary",
        "ok": True,
        "runs": len(CASES),
        "events": 10 * len(CASES),
        "lost": 0,
        "duplicated": 0,
        "restarts": 1,
    }


def test_the_summary_is_not_ok_if_anything_is_wrong_or_nothing_was_judged() -> None:
    assert summary_of(BAD, 1)["ok"] is False
    assert summary_of(BAD, 1)["lost"] == 1
    assert summary_of([], 0)["ok"] is False


@pytest.mark.parametrize("terminal", [True, False])
def test_people_see_the_end_of_each_run_and_what_did_not_hold(terminal: bool) -> None:
    out = io.StringIO()
    show = TextShow(Console(file=out, force_terminal=terminal, width=200))
    with show.live():
        show.say("a line")
        show.event(TICKER, {"type": "TextProduced", "text": "tick 1\ntick 2\x1b[2J\n"})
        show.event(TICKER, END)
    show.end(BAD, 1)
    seen = out.getvalue()
    for words in ("a line", "one is missing", "SOMETHING DID NOT HOLD", "1 lost"):
        assert words in seen
    assert "\x1b[2J" not in seen
    assert ("run ticker ended: succeeded" in seen) is not terminal
