"""Tables, into a pipe and on a terminal."""

from __future__ import annotations

import io
import json
import sys

import pytest

from fleetgate.gateway.commands.output import moment, say, write_json, write_table

COLUMNS = (
    ("NAME", lambda line: line["name"]),
    ("OTHER", lambda line: line.get("other")),
)
LINES = [{"name": "a", "other": ["x", "y"]}, {"name": "b\x1b[2J\tc\nd", "other": None}]


def test_into_a_pipe_columns_are_separated_by_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(COLUMNS, LINES)
    assert capsys.readouterr().out == "NAME\tOTHER\na\tx y\nb^[[2J c^Jd\t-\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_table_is_drawn_and_no_markup_or_escape_acts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "dumb")
    write_table(COLUMNS, [{"name": "[red]x[/red]", "other": "\x1b]0;title\x07"}])
    text = terminal.getvalue()
    assert "[red]x[/red]" in text
    assert "^[]0;title^G" in text
    assert "\x1b]0" not in text


def test_json_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"a": "ä\n"})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"a": "ä\n"}


def test_say_is_printable(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[2J")
    assert capsys.readouterr().out == "a^[[2J\n"


def test_moments() -> None:
    assert moment(None) is None
    text = moment(1_700_000_000_999_999_999)
    assert text is not None
    assert len(text) == len("2023-11-14 22:13:20")
