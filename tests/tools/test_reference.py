"""What is made of the code, or of another page, is as it would be made now."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "reference.py"))


@attrs.frozen
class _Settings:
    """Of a protocol."""

    word: str = "x"
    """What it
    says."""
    on: bool = True
    seconds: float = 20.0
    names: tuple[str, ...] = ("a", "b")
    """Names."""


def test_a_table_has_keys_defaults_and_words() -> None:
    make_table: Callable[[type], str] = TOOL["make_table"]
    assert make_table(_Settings).splitlines()[2:] == [
        '| `word` | `"x"` | What it says. |',
        "| `on` | `true` |  |",
        "| `seconds` | `20` |  |",
        '| `names` | `["a", "b"]` | Names. |',
    ]


@pytest.mark.parametrize(
    "name",
    [
        "docs/reference/config.md",
        "docs/reference/fakes.md",
        "docs/guarantees.md",
        "gateway/fidelity/measured.json",
    ],
)
def test_each_file_is_current(name: str) -> None:
    text = (ROOT / name).read_text()
    assert TOOL["MADE"][name](text) == text, "run: python tools/reference.py"


def test_the_check_says_what_is_not_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert TOOL["main"](["--check"]) == 0, capsys.readouterr().err
    made = {"one.md": lambda page: page, "two.md": lambda page: page + "more"}
    for name in made:
        (tmp_path / name).write_text("as it was")
    monkeypatch.setitem(TOOL["main"].__globals__, "MADE", made)
    monkeypatch.setitem(TOOL["main"].__globals__, "ROOT", tmp_path)
    assert TOOL["main"](["--check"]) == 1
    assert capsys.readouterr().err == "two.md is not current; run: python tools/reference.py\n"
    assert TOOL["main"]([]) == 0
    assert (tmp_path / "two.md").read_text() == "as it wasmore"


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="has no place for agency south"):
        TOOL["rendered"]("nothing", TOOL["settings_tables"]())
