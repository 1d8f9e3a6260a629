"""Whether two values are one and the same: unlike `==`, 1 is not 1.0, -0.0 is not 0.0, and NaN is
itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs


def same(one: Any, other: Any) -> bool:
    """Whether they are, all the way down. Lists and tuples are told apart by their class alone."""
    if one is other:
        return True
    if isinstance(one, float):
        return isinstance(other, float) and repr(float(one)) == repr(float(other))
    if isinstance(one, str | bytes | int) or one is None:
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if type(one) is not type(other):
        return False
    if attrs.has(type(one)):
        return all(
            same(getattr(one, member.name), getattr(other, member.name))
            for member in attrs.fields(type(one))
            if member.eq
        )
    if isinstance(one, Sequence):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
