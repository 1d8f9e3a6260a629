"""The page of requirements is the kits'."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fleetgate.gateway.tck import cli
from fleetgate.gateway.tck.kits import all_kits
from fleetgate.gateway.tck.page import to_markdown

ID = re.compile(r"\| [A-Z]+-[A-Z]-\d+ ")
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "requirements.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == to_markdown(), (
        "run: gateway tck --markdown > docs/reference/requirements.md"
    )


def test_the_command_writes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--markdown"]) == cli.OK
    assert capsys.readouterr().out == to_markdown()


def test_each_requirement_is_a_row_of_seven_cells() -> None:
    rows = [line for line in to_markdown().splitlines() if ID.match(line)]
    ids = [each.id for kit in all_kits() for each in kit.requirements]
    assert [row.split(" | ")[0][2:] for row in rows] == ids
    assert {row.replace("\\|", "").count("|") for row in rows} == {8}
