"""The settings that a promise depends on: those that its sentences name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

ZERO_IS_ALL: Final = frozenset({"replay_bound"})
"""Settings where 0 stands for no bound."""

ORDINARY: Final = frozenset({"control"})
"""Words of sentences that name no setting, though one has that name: whether an edge serves
control clients says nothing of what they are promised."""

_WORD: Final = re.compile(r"[a-z_]+")


@attrs.frozen(slots=True)
class Setting:
    """One setting as it is. `key` is its place in the config file, `sentence` what names it."""

    key: str
    name: str
    value: Any
    default: Any
    sentence: str

    @property
    def weaker(self) -> bool:
        """Whether the promise holds for less than by default: a shorter wait, fewer events, or a
        switch that was not thrown by itself."""
        if isinstance(self.default, bool):
            return bool(self.value is not self.default)
        if self.name in ZERO_IS_ALL and not self.value:
            return False
        return bool(self.value < self.default)


def named_in(sentences: Iterable[str], holders: Mapping[str, object]) -> tuple[Setting, ...]:
    """The settings that sentences name, each once. `holders` are what has them, by the place of
    their table; where two have one of a name, the first counts."""
    found: dict[str, Setting] = {}
    for sentence in sentences:
        for name in _WORD.findall(sentence):
            if name in ORDINARY:
                continue
            for place, holder in holders.items():
                if name not in found and (field := _number(holder, name)) is not None:
                    value = getattr(holder, name)
                    key = f"{place}.{name}"
                    found[name] = Setting(key, name, value, field.default, sentence)
    return tuple(found.values())


def _number(holder: object, name: str) -> attrs.Attribute[Any] | None:
    """The setting of a name, if there is one and it is a number or a switch."""
    kind: type[Any] = type(holder)
    if not attrs.has(kind):
        return None
    field = attrs.fields_dict(kind).get(name)
    return field if field is not None and isinstance(field.default, int | float) else None


def figure(value: float) -> str:
    """A number as it is written in the file: whole, where it is."""
    return str(int(value)) if float(value).is_integer() else str(value)
