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
