"""An auditor that gets no answer is no clean bill, and says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "audit.py"
HOLE = {"id": "PYSEC-1", "fix_versions": ["2.1"]}
GOOD: dict[str, Any] = {"name": "a", "version": "1.0", "vulns": []}
BAD: dict[str, Any] = {"name": "b", "version": "2.0", "vulns": [HOLE]}
SKIPPED: dict[str, Any] = {"name": "b", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ([GOOD, {**BAD, "vulns": []}], 0, "2 packages: pypi knows of no hole in them"),
        ([GOOD, BAD], 1, "b 2.0: PYSEC-1, mended in 2.1"),
        ([GOOD, SKIPPED], 2, "pypi did not answer about 1 of 2 packages"),
        ([GOOD], 2, "pypi did not answer about 1 of 2 packages"),
        (None, 2, "pypi did not answer about 2 of 2 packages"),
        ([SKIPPED, BAD], 1, "PYSEC-1"),
    ],
)
def test_what_is_found_missing_or_not_answered(
    found: list[Any] | None, code: int, said: str, tmp_path: Path
) -> None:
    auditor = tmp_path / "pip-audit"
    answer = "raise SystemExit('no route to host')"
    if found is not None:
        answer = f"print({json.dumps(json.dumps({'dependencies': found}))})"
    auditor.write_text(f"#!{sys.executable}\n{answer}\n")
    auditor.chmod(0o700)
    pins = tmp_path / "pins.txt"
    pins.write_text("# pins\na==1.0\nb==2.0\n")
    command = [sys.executable, str(TOOL), "--auditor", str(auditor), "--requirements", str(pins)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == code
    words = ran.stdout + ran.stderr
    assert said in words
    assert "Traceback" not in words
    if found is None:
        assert "no route to host" in words
