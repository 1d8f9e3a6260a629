"""The settings in docs/reference/config.md are those of the code."""

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


def test_the_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL["main"](["--check"]) == 0, capsys.readouterr().err


def test_a_page_without_a_place_for_a_protocol_is_refused() -> None:
    with pytest.raises(SystemExit, match="has no place for agency south"):
        TOOL["rendered"]("nothing")
