"""Names and times of another day: what a recording says, and what the live peer says for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeGuard

from fleetgate.protocols.explaining import Explainer
from fleetgate.protocols.redaction import REDACTED, is_secret

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER: Final = re.compile(r"-?\d+")

_YEAR: Final = 366 * 24 * 3600 * 10**9
_UNITS: Final = (1, 10**3, 10**6, 10**9)
"""What a number of nanoseconds may be written in: its parts, down to whole seconds."""


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a JSON array."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def snake(name: str) -> str:
    """A member's name in one spelling: `runId` and `run_id` are the same."""
    return _HUMP.sub("_", name).lower()


class Names:
    """Which name of the recording stands for which live one, one to one. A text stands for the same
    wherever it is; a number only under its own member's name: there are many ones."""

    def __init__(self) -> None:
        self._live: dict[tuple[str, Any], Any] = {}
        self._recorded: dict[tuple[str, Any], Any] = {}

    def meet(self, member: str, recorded: Any, live: Any) -> bool:
        """The peer says `live` where it said `recorded`; False where either stands for another."""
        there, here = _key(member, recorded), _key(member, live)
        if there not in self._live and here not in self._recorded:
            self._live[there] = live
            self._recorded[here] = recorded
        return there in self._live and bool(self._live[there] == live)

    def live(self, member: str, recorded: Any) -> Any:
        """What stands for a recorded name now; itself, if it was not met."""
        return self._live.get(_key(member, recorded), recorded)


def _key(member: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return "", value
    return snake(member), value


class Renewal:
    """Makes of what was sent then what is to be sent now: with the peer's names of now, times that
    are as far from now as they were from then, and our secret where one was taken out."""

    def __init__(
        self, explainer: Explainer, names: Names, started: int, now: int, token: str | None
    ) -> None:
        self._explainer = explainer
        self._names = names
        self._started = started
        self._shift = now - started
        self._token = token

    def body(self, value: Any, member: str = "") -> Any:
        """A message, renewed."""
        if is_object(value):
            return {key: self.body(each, key) for key, each in value.items()}
        if is_list(value):
            return [self.body(each, member) for each in value]
        if value == REDACTED and self._token is not None and is_secret(member):
            return self._token
        if member in self._explainer.ids and value is not None:
            return self._names.live(member, value)
        if member in self._explainer.times:
            return self._time(value)
        return value

    def _time(self, value: Any) -> Any:
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            return self._date(value)
        try:
            number = int(value)
        except (TypeError, ValueError):
            return value
        for unit in _UNITS:
            if abs(number * unit - self._started) < _YEAR:
                moved = number + self._shift // unit
                return str(moved) if isinstance(value, str) else moved
        return value

    def _date(self, text: str) -> str:
        """An instant as RFC 3339 writes it. Its digits behind microseconds are kept."""
        found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", text)
        if found is None or text.startswith("0001-"):
            return text
        seconds, rest = divmod(self._shift, 10**9)
        try:
            whole = datetime.fromisoformat(found[1]) + timedelta(seconds=seconds)
        except (ValueError, OverflowError):
            return text
        fraction = int((found[2] or ".0")[1:10].ljust(9, "0")) + rest
        whole += timedelta(seconds=fraction // 10**9)
        return f"{whole.isoformat()}.{fraction % 10**9:09}{found[3]}"
