"""The examples in other languages: none is forgotten, and a failure is one. They themselves are
run by `just examples`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "examples.py"))
Example, main = TOOL["Example"], TOOL["main"]


def test_every_folder_of_programs_is_run() -> None:
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    assert {name for name in folders if name[:4] != "run-"} - {"tck"} == set(TOOL["EXAMPLES"])


def test_what_is_not_here_or_too_old_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {
        "a": Example(tmp_path, ("no-such-compiler", "x")),
        "b": Example(tmp_path, ("bash", "-c", "exit 1"), (99,)),
    }
    assert main([], known) == 0
    assert capsys.readouterr().out.splitlines() == [
        "skip a: the command no-such-compiler is not here",
        "skip b: bash is older than 99",
    ]


def test_a_failure_is_one_and_others_are_run_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {
        "bad": Example(tmp_path, ("bash", "-c", "exit 3")),
        "good": Example(tmp_path, ("bash", "-c", 'test -x "$GATEWAY" && touch ran'), (4,)),
    }
    assert main([], known) == 1
    assert (tmp_path / "ran").exists()
    assert "failed examples: bad\n" in capsys.readouterr().out
    assert main(["good"], known) == 0
    assert main(["none"], known) == 2
