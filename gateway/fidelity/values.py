"""A value's default, a typical one and an extreme one, by the type of the member that holds it.

Each value that can is made around a *token*, a word that stands nowhere else, so that it is
recognised wherever it arrives.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, cast

import attrs

TYPICAL: Final = "typical"
EXTREME: Final = "extreme"
DEFAULT: Final = "default"

LARGEST: Final = (1 << 63) - 1
"""Counts are 63-bit everywhere."""

REPEATED: Final = 500
"""Of the extreme text's characters outside ASCII: enough to meet every buffer's edges, and
far below what an event may hold."""

_ODD: Final = 'é中\U0001f600"\\\n\t{}%'


@attrs.frozen(slots=True)
class Value:
    """A value and what it is an example of."""

    label: str
    value: Any


def values_of(hint: Any, token: str, number: int) -> list[Value]:
    """A typical and an extreme value of a type, or all of them if it is an enumeration.
    `number` is to integers what the token is to text.

    Raises: `TypeError` for a type that no member has had so far.
    """
    kind = _bare(hint)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [Value(each.value, each) for each in kind]
    if kind in _MAKERS:
        typical, extreme = _MAKERS[kind](token, number)
        return [Value(TYPICAL, typical), Value(EXTREME, extreme)]
    raise TypeError(f"no values are known for {hint}")


def _bare(hint: Any) -> Any:
    """The type of what is there where it is there: without None, without type parameters."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [each for each in typing.get_args(hint) if each is not type(None)]
        # JSON is a union of all that it can hold; of it an object is typical.
        return _bare(members[0]) if len(members) == 1 else dict
    origin = typing.get_origin(hint)
    if origin is not None:
        return Mapping if origin in (Mapping, dict) else origin
    supertype = getattr(hint, "__supertype__", None)
    return hint if supertype is None else _bare(supertype)


def _odd_text(token: str) -> str:
    return token + _ODD + _ODD[:3] * REPEATED


def _json(token: str, number: int) -> tuple[Any, Any]:
    extreme = {"a": [None, True, 0, -1, 0.5, number, {"": _odd_text(token)}], "é\n": LARGEST}
    return {"key": token}, extreme


def _mapping(token: str, number: int) -> tuple[Any, Any]:
    return {"KEY": token}, {"KEY": _odd_text(token), "OTHER": "", "THIRD_1": "="}


def _tuple(token: str, number: int) -> tuple[Any, Any]:
    return (f"/{token}",), (f"/{token}", f"/{_odd_text(token)}")


def _bytes(token: str, number: int) -> tuple[Any, Any]:
    return token.encode(), token.encode() + bytes(range(256))


def _str(token: str, number: int) -> tuple[Any, Any]:
    return token, _odd_text(token)


def _int(token: str, number: int) -> tuple[Any, Any]:
    return number, LARGEST


def _bool(token: str, number: int) -> tuple[Any, Any]:
    return True, False


_MAKERS: Final[dict[Any, Callable[[str, int], tuple[Any, Any]]]] = {
    str: _str,
    bytes: _bytes,
    int: _int,
    bool: _bool,
    dict: _json,
    Mapping: _mapping,
    tuple: _tuple,
}


def leaves(value: object) -> Iterator[object]:
    """All texts, bytes and numbers in a value, with the keys of its objects."""
    if isinstance(value, Enum):
        yield value.value
    elif isinstance(value, Mapping):
        for key, member in cast(Mapping[object, object], value).items():
            yield from leaves(key)
            yield from leaves(member)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in cast(Sequence[object], value):
            yield from leaves(item)
    elif attrs.has(type(value)):
        for name in attrs.fields_dict(cast(Any, type(value))):
            yield from leaves(getattr(value, name))
    elif value is not None:
        yield value


def text_in(value: object) -> str:
    """All that a value holds, as one text to look for tokens in."""
    return "\0".join(
        each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each)
        for each in leaves(value)
    )
