"""What became of an item: a judgement on what was said and what arrived."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, unique
from typing import Any, Final

import attrs

from fleetgate.core.events import OutputProduced, TextProduced
from fleetgate.gateway.fidelity.corpus import Item, at
from fleetgate.gateway.fidelity.values import DEFAULT, text_in
from fleetgate.gateway.render import plain


@unique
class Verdict(Enum):
    """Best first."""

    CARRIED = "carried"
    """It arrived as what it was."""
    CONVERTED = "converted"
    """It arrived as something else, in which it can be found."""
    SYNTHESISED = "synthesised"
    """Something of its kind arrived that nobody had said."""
    DROPPED = "dropped"
    """It did not arrive."""

    @property
    def rank(self) -> int:
        """0 is best."""
        return list(Verdict).index(self)


@attrs.frozen(slots=True)
class Finding:
    """The verdict on one item. `note` says as what it arrived, or why it was refused."""

    row: str
    label: str
    verdict: Verdict
    note: str = ""


TELLING: Final = 1_000_000
"""A number above this is no other number by chance."""


def judge(item: Item, arrived: Sequence[Any], refused: str = "") -> Finding | None:
    """The verdict on an item of which `arrived` came, in order. None: there is nothing to say,
    for it is a default of something that did not arrive itself."""
    telling = [each for each in arrived if not _is_empty(each)]
    same = [each for each in telling if type(each) is type(item.subject)]
    if not item.path:
        verdict = _of_kind(telling, same)
    elif same and _reached(item, same[0]):
        verdict = _of_member(item, same)
    elif item.label == DEFAULT:
        return None
    else:
        verdict = _of_trace(item, telling)
    return Finding(item.row, item.label, verdict, _note(item, telling, verdict, refused))


def _is_empty(each: Any) -> bool:
    if isinstance(each, OutputProduced):
        return not each.data
    return isinstance(each, TextProduced) and not each.text


def _of_kind(telling: Sequence[Any], same: Sequence[Any]) -> Verdict:
    if same:
        return Verdict.CARRIED
    return Verdict.CONVERTED if telling else Verdict.DROPPED


def _reached(item: Item, arrived: Any) -> bool:
    """Whether what holds the member is of the same class, on the way to it."""
    sent: Any = item.subject
    for name in item.path[:-1]:
        sent, arrived = getattr(sent, name), getattr(arrived, name)
        if type(sent) is not type(arrived):
            return False
    return True


def _of_member(item: Item, same: Sequence[Any]) -> Verdict:
    if plain(_joined(item, same)) == plain(item.value):
        return Verdict.CARRIED
    if item.label == DEFAULT:
        return Verdict.SYNTHESISED
    return _of_trace(item, same)


def _joined(item: Item, same: Sequence[Any]) -> Any:
    """The member as it arrived: a body may have come in pieces."""
    parts = [at(each, item.path) for each in same]
    if isinstance(item.value, str) and all(isinstance(part, str) for part in parts):
        return "".join(parts) if len({*parts}) > 1 else parts[0]
    if isinstance(item.value, bytes) and all(isinstance(part, bytes) for part in parts):
        return b"".join(parts)
    return parts[0]


def _of_trace(item: Item, telling: Sequence[Any]) -> Verdict:
    """Whether a value can be found at all: by its token or number, or by its own word."""
    text = text_in(telling)
    if item.token in text or str(item.number) in text:
        return Verdict.CONVERTED
    words = plain(item.value)
    if isinstance(words, str) and words and words in text.split("\0"):
        return Verdict.CONVERTED
    if type(words) is int and words > TELLING and str(words) in text:
        return Verdict.CONVERTED
    return Verdict.DROPPED


def _note(item: Item, telling: Sequence[Any], verdict: Verdict, refused: str) -> str:
    if refused:
        return f"refused: {refused}"
    if verdict is Verdict.CONVERTED:
        kinds = dict.fromkeys(type(each).__name__ for each in telling)
        return f"as {', '.join(kinds)}"
    return ""


def worst(findings: Sequence[Finding]) -> Finding:
    """The finding that counts for a member: of all its values the least."""
    return max(findings, key=lambda finding: finding.verdict.rank)
