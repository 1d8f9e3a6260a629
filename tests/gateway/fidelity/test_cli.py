"""`gateway fidelity`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.fidelity.cli import all_columns, run
from fleetgate.gateway.fidelity.report import read_markdown
from fleetgate.gateway.registry import adapters

PAGE = Path(__file__).parents[3] / "docs" / "fidelity.md"


def test_all_is_every_protocol_by_itself_and_every_pair() -> None:
    known = adapters(())
    columns = all_columns()
    assert len(columns) == len(known) + len(known) ** 2 == len(set(columns))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["agency"], "name two protocols"),
        (["agency", "rvbix"], "did you mean rvbox?"),
        (["--json", "--markdown"], "not allowed with"),
        (["--check", "no/such/page.md"], "no/such/page.md is no page"),
    ],
)
def test_a_command_line_that_makes_no_sense(argv, words: str, capsys) -> None:
    assert run(argv) == 2
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_one_pair_as_lines(capsys) -> None:
    assert run(["rvbox", "--json", "rvbox"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["bridge"] for line in lines} == {"rvbox>rvbox"}
    output = [line for line in lines if line["row"] == "OutputProduced.data"]
    assert [line["verdict"] for line in output] == ["carried", "carried"]


@pytest.mark.slow
def test_a_page_is_kept_and_what_is_worse_than_it_is_named(tmp_path: Path, capsys) -> None:
    """The other bridges: `just fidelity-check`."""
    assert run(["rvbox", "rvbox", "--check", str(PAGE)]) == 0
    assert capsys.readouterr().out == "none is worse\n"
    better = PAGE.read_text().replace("`·`", "`=`")
    kept = tmp_path / "page.md"
    kept.write_text(better)
    assert run(["rvbox", "rvbox", "--check", str(kept)]) == 1
    out = capsys.readouterr().out
    assert "rvbox>rvbox: " in out
    assert "was carried and is dropped" in out
    assert "needs an ADR" in out


def test_the_page_has_every_bridge() -> None:
    page = read_markdown(PAGE.read_text())
    assert {column for row in page.values() for column in row} == set(all_columns())
