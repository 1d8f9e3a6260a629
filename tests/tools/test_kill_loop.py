"""The loop of kills: what it adds up, and when it is content. The demo has its own test."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kill_loop", ROOT / "tools" / "kill_loop.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


kill_loop = load_tool()
GOOD = {"event": "summary", "ok": True, "lost": 0, "duplicated": 0, "restarts": 1}
BAD = {"event": "summary", "ok": False, "lost": 2, "duplicated": 1, "restarts": 1}


def demo(
    monkeypatch: pytest.MonkeyPatch, *rounds: tuple[int, list[dict[str, Any]]] | None
) -> list[list[str]]:
    """Have the demo print these lines, one list a round; None is a round without an end."""
    left, seen = list(rounds), []

    def run(words: list[str], timeout: float, **_: object) -> Any:
        seen.append(words[1:])
        printed = left.pop(0)
        if printed is None:
            raise subprocess.TimeoutExpired(words, timeout)
        out = "".join(json.dumps(line) + "\n" for line in printed[1])
        return subprocess.CompletedProcess(words, printed[0], out, "why\n")

    monkeypatch.setattr(subprocess, "run", run)
    return seen


def test_rounds_that_held_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = demo(monkeypatch, (0, [{"event": "demo"}, GOOD]), (0, [GOOD]))
    assert kill_loop.main(["2"]) == 0
    assert capsys.readouterr().out == "kills 2 lost 0 duplicated 0\n"
    assert seen == [["-P", "-m", "fleetgate", "demo", "--json"]] * 2


def test_what_was_lost_is_exit_code_1_and_says_of_which_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = {"event": "judged", "run": "ticker", "problems": ["2 are missing"]}
    demo(monkeypatch, (1, [judged, BAD]), (0, [GOOD]))
    assert kill_loop.main(["2"]) == 1
    said = capsys.readouterr()
    assert said.out == "kills 2 lost 2 duplicated 1; 1 round(s) did not hold\n"
    assert "ticker: ['2 are missing']" in said.err
    assert "why" in said.err


def test_a_round_without_an_end_did_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    demo(monkeypatch, None, (1, []))
    assert kill_loop.main(["2"]) == 1
    said = "kills 0 lost 0 duplicated 0; 2 round(s) did not hold\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("words", [["0"], ["-1"], ["x"], ["1", "2"]])
def test_words_that_make_no_sense_are_exit_code_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert kill_loop.main(words) == 2
    assert "usage" in capsys.readouterr().err
