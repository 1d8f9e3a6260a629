"""`gateway demo --all`, whole: some twenty processes, a real journal, a real kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fleetgate.gateway.demo.every.scenes import SCENES
from fleetgate.gateway.demo.every.speakers import PAIRS


@pytest.mark.slow
def test_no_bridge_loses_anything_or_says_it_twice(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "fleetgate", "demo", "--all", "--json"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    summary = lines[-1]
    assert done.returncode == 0, (done.stderr, lines[-len(PAIRS) * len(SCENES) - 1 :])
    assert summary.pop("events") > 1000
    assert summary == {
        "event": "summary",
        "ok": True,
        "runs": len(PAIRS) * len(SCENES),
        "lost": 0,
        "duplicated": 0,
        "restarts": 1,
        "bridges": len(PAIRS),
    }
    assert list(place.iterdir()) == []
