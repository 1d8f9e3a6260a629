"""`gateway demo`, whole: real processes, a real journal, a real kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fleetgate.gateway.demo.cases import CASES
from fleetgate.gateway.demo.cli import main


def test_the_demo_loses_nothing_and_does_nothing_twice(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fleetgate", "demo", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    summary = lines[-1]
    assert done.returncode == 0, done.stderr
    assert summary.pop("events") > len(CASES) * 3
    assert summary == {
        "event": "summary",
        "ok": True,
        "runs": len(CASES),
        "lost": 0,
        "duplicated": 0,
        "restarts": 1,
    }
    judged = {line["run"]: line for line in lines if line["event"] == "judged"}
    assert judged.keys() == {case.name for case in CASES}
    assert all(line["ok"] for line in judged.values())
    assert list(place.iterdir()) == []


def test_a_command_line_that_makes_no_sense_is_exit_code_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--jsn"]) == 2
    assert "--json" in capsys.readouterr().err
    assert main(["--all", "--keep"]) == 2
    assert "use --keep without it" in capsys.readouterr().err


@pytest.mark.slow
def test_with_keep_everything_is_left_running_and_it_says_how_to_look_around_and_end_it(
    place: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fleetgate", "demo", "--keep"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    said = done.stdout.partition("everything is left running in ")[2]
    *look, end = (line.strip() for line in said.splitlines() if line.startswith("    "))
    try:
        status, runs, tail, _ = look
        assert "hosts" in _sh(status)
        assert all(f"gui/{case.name}\t" in _sh(runs) for case in CASES)
        assert "tick 49" in _sh(tail)
    finally:
        _sh(end)
    assert list(place.iterdir()) == []


def _sh(line: str) -> str:
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
