"""What argparse lacks for our commands: options anywhere, and numbers with a range."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import Any, Final, NoReturn

_BEHIND: Final = "\0"
"""Marks a word that stands behind `--` and begins with a dash. No word of a command line holds it,
and argparse takes a word that begins with it for no option."""


class Roomy(argparse.HelpFormatter):
    """Commands and their words on one line each: argparse forgets that it indents commands when it
    looks how long the longest is."""

    def add_argument(self, action: argparse.Action) -> None:
        """As argparse has it, and room for the indentation."""
        super().add_argument(action)
        for each in self._iter_indented_subactions(action):
            length = len(self._format_action_invocation(each)) + self._current_indent
            self._action_max_length = max(self._action_max_length, length)


class Intermixed(argparse.ArgumentParser):
    """A parser of a command whose options may stand before, between and behind its words.

    Plain argparse gives an optional word its default as soon as an option follows, and then has no
    place for the word itself. Options are written in full: what is short for one today may be
    short for two tomorrow.
    """

    stray = ""
    """What to do about a word that is none of the command's."""

    _inside = False

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        super().__init__(**settings)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] - its overloads
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        """As argparse has it, which calls this again for the options and then for the words."""
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            made, extra = self.parse_known_intermixed_args(_marked(args or ()), namespace)
        finally:
            self._inside = False
        for name, value in list(vars(made).items()):
            setattr(made, name, _unmarked(value))
        if extra:
            self._refuse([word.removeprefix(_BEHIND) for word in extra])
        return made, []

    def _refuse(self, extra: list[str]) -> NoReturn:
        """Here and not in the parser above, whose usage shows none of the command's options."""
        known = [name for action in self._actions for name in action.option_strings]
        hints = [hint for word in extra if word[:2] == "--" and (hint := near(word, known))]
        hint = hints[0] if hints else self.stray
        self.error(f"unrecognized arguments: {' '.join(extra)}" + (f"; {hint}" if hint else ""))


def near(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest known word; empty where none is near."""
    from difflib import get_close_matches  # only where something is wrong

    close = get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""


def _unmarked(value: Any) -> Any:
    match value:
        case str():
            return value.removeprefix(_BEHIND)
        case [*words]:
            return [_unmarked(each) for each in words]
        case _:
            return value


def _marked(words: Any) -> list[str]:
    """The words without `--`: argparse forgets it between its two rounds."""
    given = list(words)
    if "--" not in given:
        return given
    at = given.index("--")
    behind = (f"{_BEHIND}{word}" if word[:1] == "-" else word for word in given[at + 1 :])
    return [*given[:at], *behind]


def seconds(text: str) -> float:
    """A time from a command line.

    Raises: `argparse.ArgumentTypeError`.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise argparse.ArgumentTypeError(f"expected seconds, 0 or more, got {text!r}")
    return number


MAX_DIGITS: Final = 18
"""Digits of a number: what the journal holds."""


def count(text: str, least: int = 0, most: int = 10**MAX_DIGITS - 1) -> int:
    """A whole number from a command line, from `least` to `most`.

    Raises: `argparse.ArgumentTypeError`.
    """
    digits = text.isascii() and text.isdecimal()
    if digits and (len(text) > MAX_DIGITS or int(text) > most):
        raise argparse.ArgumentTypeError(f"expected at most {most}")
    if not digits or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number, {least} or more, got {text!r}")
    return int(text)


def own_name(text: str) -> str:
    """A run's name, which `admin/` is put before.

    Raises: `argparse.ArgumentTypeError`.
    """
    if not text or "/" in text:
        came = repr(text) if text else "nothing"
        raise argparse.ArgumentTypeError(
            f"expected a name without '/' (its id will be admin/NAME), got {came}"
        )
    return text
