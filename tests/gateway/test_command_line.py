"""Options anywhere, and numbers with a range."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable
from itertools import permutations

import pytest

from fleetgate.gateway.command_line import Intermixed, Roomy, count, own_name, seconds


def _parser() -> Intermixed:
    parser = Intermixed()
    parser.add_argument("run")
    parser.add_argument("text", nargs="?")
    parser.add_argument("--close", action="store_true")
    parser.add_argument("--reason")
    return parser


@pytest.mark.parametrize("order", [*permutations([("--close",), ("--reason", "why"), ("r",)])])
def test_options_stand_anywhere(order: tuple[tuple[str, ...], ...]) -> None:
    made = _parser().parse_args([*(word for words in order for word in words), "t"])
    assert (made.run, made.text, made.close, made.reason) == ("r", "t", True, "why")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["r", "--clos"], "unrecognized arguments: --clos; did you mean --close?"),
        (["r", "t", "more"], "unrecognized arguments: more; words stand in quotes"),
        (["r", "t", "-x", "--zzz"], "unrecognized arguments: -x --zzz; words stand in quotes"),
    ],
)
def test_what_is_none_of_its_words_is_refused_with_its_own_usage(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = _parser()
    parser.stray = "words stand in quotes"
    with pytest.raises(SystemExit):
        parser.parse_args(words)
    usage, error = capsys.readouterr().err.split("error: ")
    assert "--close" in usage
    assert error == f"{said}\n"


def test_a_parser_is_used_again() -> None:
    parser = _parser()
    for _ in range(2):
        assert parser.parse_args(["r", "--close", "t"]).text == "t"
        assert parser.parse_args(["r"]).text is None


@pytest.mark.parametrize("text", ["-x", "--close", "--", "t"])
def test_behind_two_dashes_nothing_is_an_option(text: str) -> None:
    made = _parser().parse_args(["r", "--reason", "why", "--", text])
    assert (made.run, made.text, made.close) == ("r", text, False)


def test_what_nobody_knows_is_named_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parser().parse_args(["r", "t", "--", "-y"])
    err = capsys.readouterr().err
    assert "unrecognized arguments: -y" in err
    assert "\0" not in err


@pytest.mark.limit("gateway/command_line.MAX_DIGITS")
@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((seconds, text) for text in ("-1", "nan", "inf", "x", "")),
        *((count, text) for text in ("-1", "1.5", "x", "", "9" * 19, "²")),
        *((own_name, text) for text in ("", "a/b", "/")),
    ],
)
def test_what_is_out_of_range_is_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected"):
        read(text)


def test_what_is_in_range() -> None:
    assert (seconds("1.5"), count("12"), own_name("a")) == (1.5, 12, "a")


def test_a_count_is_from_its_least_to_its_most() -> None:
    assert [count(text, least=1, most=20) for text in ("1", "20")] == [1, 20]
    for text, wanted in (("0", "1 or more, got '0'"), ("21", "at most 20"), ("9" * 9999, "20")):
        with pytest.raises(ArgumentTypeError, match=wanted) as error:
            count(text, least=1, most=20)
        assert len(str(error.value)) < 80


def test_a_long_command_has_its_words_beside_it() -> None:
    parser = argparse.ArgumentParser(formatter_class=Roomy)
    commands = parser.add_subparsers(metavar="COMMAND")
    commands.add_parser("go", help="short")
    commands.add_parser("go-on-and-on", help="long")
    rows = [line.split() for line in parser.format_help().splitlines()]
    assert ["go", "short"] in rows
    assert ["go-on-and-on", "long"] in rows
