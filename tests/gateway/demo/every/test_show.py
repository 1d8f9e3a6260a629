"""What the audience sees."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from fleetgate.gateway.demo.every.judge import Verdict
from fleetgate.gateway.demo.every.scenes import SCENES
from fleetgate.gateway.demo.every.show import EveryJsonShow, EveryTextShow, summary_of
from fleetgate.gateway.demo.every.speakers import PAIRS

GOOD = [Verdict(pair, scene, 5, 0, 0, ()) for pair in PAIRS for scene in SCENES]
BAD = [*GOOD[1:], Verdict(PAIRS[0], SCENES[0], 4, 1, 2, ("1 line(s) are missing",))]


def test_the_summary_counts_runs_and_bridges() -> None:
    assert summary_of(GOOD, 1) == {
        "event": "summary",
        "ok": True,
        "runs": len(GOOD),
        "events": 5 * len(GOOD),
        "lost": 0,
        "duplicated": 0,
        "restarts": 1,
        "bridges": len(PAIRS),
    }
    assert summary_of([], 0)["ok"] is False
    total = summary_of(BAD, 1)
    assert (total["ok"], total["lost"], total["duplicated"]) == (False, 1, 2)


def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    show = EveryJsonShow()
    with show.live():
        show.say("hello")
        show.event(PAIRS[0], SCENES[0], {"event": "run", "run": "quick"})
        show.end(BAD, 1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {"event": "demo", "text": "hello"}
    assert lines[1]["bridge"] == PAIRS[0].name
    assert sum(line["event"] == "judged" for line in lines) == len(BAD)
    assert lines[-1]["event"] == "summary"


@pytest.mark.parametrize("terminal", [True, False])
def test_the_matrix_has_every_pair(terminal: bool) -> None:
    out = io.StringIO()
    show = EveryTextShow(Console(file=out, width=200, force_terminal=terminal))
    with show.live():
        for pair in PAIRS:
            show.event(pair, SCENES[0], {"type": "TextProduced"})
            end = {"type": "RunFinished", "outcome": {"state": "succeeded"}}
            show.event(pair, SCENES[0], end)
        show.end(BAD, 1)
    matrix = Console(file=(shown := io.StringIO()), width=200)
    matrix.print(show.matrix())
    assert shown.getvalue().count("2 quick succeeded") == len(PAIRS)
    assert out.getvalue().count("ok, 15 events") == len(PAIRS) - 1
    assert "quick: 1 line(s) are missing" in out.getvalue()
    assert "SOMETHING DID NOT HOLD" in out.getvalue()
