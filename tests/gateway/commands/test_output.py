"""Tables, into a pipe and on a terminal."""

from __future__ import annotations

import io
import json
import sys

import pytest

from fleetgate.gateway.commands.output import Column, moment, say, write_json, write_table

COLUMNS = (
    Column("NAME", lambda line: line["name"]),
    Column("OTHER", lambda line: line.get("other"), 1),
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


@pytest.mark.parametrize(
    ("name", "other", "left_out"),
    [("q" * 60, "z" * 10, False), ("q" * 60, "z" * 30, True), ("q" * 200, "z", True)],
)
def test_a_narrow_terminal_leaves_out_what_matters_less_and_cuts_nothing(
    name: str, other: str, left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    write_table(COLUMNS, [{"name": name, "other": other}])
    text = terminal.getvalue()
    assert text.count("q") == len(name)
    assert "…" not in text
    assert ("(too narrow for: OTHER; --json has all)" in text) is left_out
    assert (other in text) is not left_out


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
