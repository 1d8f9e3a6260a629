"""The commands of the show do what the judge expects of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleetgate.gateway.demo.cases import AFTER, EXIT, LONG, MARKS, STDIN, TICKER, Case


@pytest.mark.parametrize(
    ("case", "given", "code"),
    [(LONG, "", 0), (STDIN, "ada\ngreen\n", 0), (EXIT, "", 3), (TICKER, "", 0), (AFTER, "", 0)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_command_prints_what_it_must(case: Case, given: str, code: int, tmp_path: Path) -> None:
    prompt = case.prompt.replace("sleep 0.1", "true")
    done = subprocess.run(
        ["sh", "-c", prompt],
        input=given,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, MARKS: str(tmp_path)},
        check=False,
    )
    assert done.stdout == case.text
    assert done.returncode == code
    assert (tmp_path / case.name).read_text() == "x\n"
