"""Free-form JSON as a value.

Python tells `1` from `1.0` and holds integers of any size, so a JSON value that
came in through one protocol goes out through another with its numbers unchanged.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeGuard, Union

Json: TypeAlias = Union[  # noqa: UP007 - a string is not an operand of `|`
    None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]
]
"""Treat it as frozen: values are shared between events, runs and followers."""

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
"""The empty object, as a default that nobody can write to."""


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON: unlike `==`, `1`, `1.0` and `true` differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if _is_array(one) and _is_array(other):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def _is_array(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
