"""What a live peer says beside what it said when it was recorded."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, TypeAlias

import attrs

from fleetgate.gateway.recording.names import Names, is_list, is_object
from fleetgate.protocols.explaining import Explainer

Manner: TypeAlias = Literal["values", "strict", "shape"]
"""How close a peer must keep to a recording. `values`: each message with each value, but for names
and times; signs of life come as they come, and what comes between two of our messages may come in
any order. `strict`: those, too, each in its place. `shape`: as `values`, but of a value only its
kind counts."""

SHOWN: Final = 200
"""Characters of a value in a difference."""


class Nothing:
    """Stands for what is not there."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING_THERE: Final = Nothing()


@attrs.frozen(slots=True)
class Difference:
    """The first thing that is not as it was. `frame` is the number of the recorded frame, `name`
    what it is; `path` leads to the value within its message, and is empty for all of it. Of a link
    that does not come up or end as it did, `frame` is 0 and `name` says which."""

    frame: int
    name: str
    path: str
    expected: str
    got: str

    def __str__(self) -> str:
        where = f" at {self.path}" if self.path else ""
        what = f"frame {self.frame} ({self.name})" if self.frame else self.name
        return f"{what}{where}: expected {self.expected}, got {self.got}"


def shown(value: Any) -> str:
    """A value in a sentence."""
    if isinstance(value, Nothing):
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


Found: TypeAlias = tuple[str, Any, Any]


class Comparison:
    """Compares messages, and learns the peer's names as it goes."""

    def __init__(self, explainer: Explainer, names: Names, manner: Manner) -> None:
        self._ids = explainer.ids
        self._times = explainer.times
        self._names = names
        self._shape = manner == "shape"

    def first(self, expected: Any, got: Any) -> Found | None:
        """The first difference: its path, what was expected there, and what came."""
        return self._compare(expected, got, "", "")

    def _compare(self, expected: Any, got: Any, path: str, member: str) -> Found | None:
        if is_object(expected) and is_object(got):
            return self._objects(expected, got, path)
        if is_list(expected) and is_list(got):
            return self._lists(expected, got, path, member)
        if member in self._ids and expected is not None and got is not None:
            known = self._names.meet(member, expected, got)
            return None if known else (path, self._names.live(member, expected), got)
        same = _kind(expected) == _kind(got)
        if not self._shape and member not in self._times:
            same = same and expected == got and type(expected) is type(got)  # 2.0 is no integer
        return None if same else (path, expected, got)

    def _objects(self, expected: Any, got: Any, path: str) -> Found | None:
        for key in (*expected, *(key for key in got if key not in expected)):
            below = f"{path}.{key}" if path else str(key)
            if key not in got or key not in expected:
                return below, expected.get(key, NOTHING_THERE), got.get(key, NOTHING_THERE)
            found = self._compare(expected[key], got[key], below, key)
            if found is not None:
                return found
        return None

    def _lists(self, expected: Any, got: Any, path: str, member: str) -> Found | None:
        if self._shape and expected:  # as many as there are, each of the kind that stood there
            expected = [expected[min(at, len(expected) - 1)] for at in range(len(got))]
        for at in range(min(len(expected), len(got))):
            found = self._compare(expected[at], got[at], f"{path}[{at}]", member)
            if found is not None:
                return found
        if self._shape or len(expected) == len(got):
            return None
        at = min(len(expected), len(got))
        more = expected[at] if at < len(expected) else NOTHING_THERE
        return f"{path}[{at}]", more, got[at] if at < len(got) else NOTHING_THERE


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if value is None:
        return "null"
    return type(value).__name__
