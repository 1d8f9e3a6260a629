"""What stands on pages and in the code, too, is the same."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from fleetgate.gateway.cli import make_parser

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "pages.py"))
EXAMPLES = ROOT / "examples"
SHOWN = {".go", ".rs", ".mjs", ".sh"}


def test_the_pages_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL["main"](["--check"]) == 0, capsys.readouterr().err


def test_every_program_of_an_example_stands_on_a_page() -> None:
    pages = "".join(path.read_text() for path in (ROOT / "docs" / "how-to").glob("*.md"))
    shown = set(re.findall(r"<!-- file (\S+) -->", pages))
    programs = {path for path in EXAMPLES.rglob("*") if path.suffix in SHOWN}
    names = {str(path.relative_to(ROOT)) for path in programs if "target" not in path.parts}
    assert names - shown == {"examples/shell/host.sh"}  # stands in for the reader's own program


def test_both_clients_play_one_script() -> None:
    one, other = EXAMPLES / "go" / "testdata" / "script.toml", EXAMPLES / "javascript/script.toml"
    assert one.read_text() == other.read_text()


def test_a_file_is_put_in_whole() -> None:
    page = "a\n<!-- file examples/go/go.mod -->\nold\n<!-- end -->\nb\n"
    text = (EXAMPLES / "go" / "go.mod").read_text()
    wanted = f"a\n<!-- file examples/go/go.mod -->\n```text\n{text}```\n<!-- end -->\nb\n"
    assert TOOL["rendered"](page) == wanted
    assert TOOL["rendered"](wanted) == wanted


def test_every_command_has_a_section() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    for name in TOOL["_choices"](make_parser()):
        assert re.search(rf"^## `gateway {name}\b", page, re.MULTILINE), name
    assert "| `--socket PATH` |" in page
    assert "## `gateway tck rvbox server`" in page
