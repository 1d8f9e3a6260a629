"""TOML tables into attrs values, strictly; every problem of a file at once.

A value must have exactly the type that is wanted: no number is read out of a string, no
string out of a number. A key nobody knows is refused, with the nearest that there is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import partial
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin

import attrs
from cattrs import Converter, cols
from cattrs.errors import (
    BaseValidationError,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.gen import make_dict_structure_fn, override

from fleetgate.gateway.toml_lines import Path

_PLAIN: Final = re.compile(r"[a-z_]{1,16}")

MAX_WORDS: Final = 200
"""Characters of what a validator says, which may hold a value of any length."""

_T = TypeVar("_T")


class Unfit(ValueError):
    """A value is not what its key wants. The text says what is wanted and what came, and
    repeats no value but a plain word in place of one of a few."""


@attrs.frozen(slots=True)
class Flaw:
    """Something wrong at one place."""

    path: Path
    message: str


class Flawed(Exception):
    """A table cannot be read; all that is wrong with it."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        super().__init__("; ".join(flaw.message for flaw in flaws))
        self.flaws = tuple(flaws)


def read(kind: type[_T], value: object, path: Path, *, also: Iterable[str] = ()) -> _T:
    """Read a table as the attrs class `kind`. A member `from_` is the key `from`. `also`
    are keys that are known elsewhere, for suggestions.

    Raises: `Flawed`.
    """
    try:
        return CONVERTER.structure(value, kind)
    except BaseValidationError as error:
        raise Flawed(list(_flaws(error, path, frozenset(also)))) from None
    except (Unfit, ValueError, TypeError) as error:
        raise Flawed([Flaw(path, str(error))]) from None


def read_sound(
    kind: type[_T], table: object, path: Path, flaws: list[Flaw], instead: Mapping[str, Any]
) -> _T:
    """Read a table, whatever is wrong in it: that goes to `flaws`, and has its default or its
    stand-in of `instead`, so that the rest is looked at, too, and all is said at once.

    Raises: `Flawed` where it is no table.
    """
    if not isinstance(table, dict):
        raise Flawed([Flaw(path, f"expected a table, got {named(table)}")])
    members = cast(dict[str, Any], table)
    try:
        return read(kind, members, path)
    except Flawed as error:
        flaws.extend(error.flaws)
        wrong = {str(flaw.path[len(path)]) for flaw in error.flaws}
    sound = {key: value for key, value in members.items() if key not in wrong}
    return read(
        kind, {**sound, **{key: word for key, word in instead.items() if key in wrong}}, path
    )


def unknown_key(key: str, known: Iterable[str]) -> str:
    """What to say of a key, or a name, that nobody knows."""
    return f"unknown key; {nearest(key, known)}"


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint: the nearest known word, or all of them."""
    words = sorted(known)
    swapped = [each for each in words if sorted(each) == sorted(word)]
    close = swapped or get_close_matches(word, words, n=1)
    if not close and len(word) > 2:  # one or two letters begin too many
        close = [each for each in words if each.startswith(word)]
    if close:
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(words)}" if words else "none is known here"


def named(value: object) -> str:
    """What a TOML value is, in words."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "an array"
        case _:
            return f"a {type(value).__name__}"


def keys_of(kind: type[Any]) -> list[str]:
    """The keys of a table that is read as `kind`."""
    return [name.removesuffix("_") for name in attrs.fields_dict(kind)]


def _flaws(error: BaseException, path: Path, also: frozenset[str]) -> Iterable[Flaw]:
    match error:
        case ForbiddenExtraKeysError():
            known = {*keys_of(error.cl), *also}
            for key in sorted(error.extra_fields):
                yield Flaw((*path, key), unknown_key(key, known))
        case ClassValidationError():
            members, whole = error.group_exceptions()
            for each, member in members:
                yield from _flaws(each, (*path, member.name.removesuffix("_")), frozenset())
            for each in whole:
                yield from _flaws(each, path, also)
        case IterableValidationError():
            for each, item in error.group_exceptions()[0]:
                at: str | int = item.index  # cattrs also puts a mapping's key here
                yield from _flaws(each, (*path, at), frozenset())
        case KeyError():
            yield Flaw(path, "is missing")
        case _:
            yield Flaw(path, str(error))


def _exactly(kind: type[Any], words: str) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if type(value) is not kind:
            raise Unfit(f"expected {words}, got {named(value)}")
        return value

    return structure


def _whole(value: Any, _: Any) -> int:
    if type(value) is not int:
        came = f"{value}" if isinstance(value, float) else named(value)
        raise Unfit(f"expected a whole number, got {came}")
    return value


def _number(value: Any, _: Any) -> float:
    if type(value) not in (int, float):
        raise Unfit(f"expected a number, got {named(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Unfit("expected a finite number")
    return number


def _one_of(value: Any, kind: Any) -> Any:
    words = get_args(kind)
    if value not in words or type(value) is not str:
        shown = ", ".join(word or '""' for word in words)
        raise Unfit(f"expected one of {shown}{_meant(value, words)}")
    return value


def _member(value: Any, kind: Any) -> Any:
    words = [each.value for each in kind]
    if type(value) is not str or value not in words:
        raise Unfit(f"expected one of {', '.join(map(str, words))}{_meant(value, words)}")
    return kind(value)


def _meant(value: Any, words: Sequence[str]) -> str:
    """What came, and what was likely meant. A string that is more than a plain word may be a
    misplaced secret, and is not said."""
    if type(value) is not str:
        return f", got {named(value)}"
    came = f", got {value}" if _PLAIN.fullmatch(value) else ""
    close = get_close_matches(value, words, n=1)
    return f"{came}; did you mean {close[0]}?" if close else came


def _guarded(inner: Callable[[Any, Any], Any], guard: type, words: str) -> Callable[..., Any]:
    def structure(value: Any, kind: Any) -> Any:
        if not isinstance(value, guard):
            raise Unfit(f"expected {words}, got {named(value)}")
        return inner(value, kind)

    return structure


def _table(kind: Any, converter: Converter) -> Callable[..., Any]:
    attrs.resolve_types(kind)
    overrides: dict[str, Any] = {
        name: override(
            rename=name[:-1] if name.endswith("_") else None,
            struct_hook=_validated(member, converter) if member.validator else None,
        )
        for name, member in attrs.fields_dict(kind).items()
    }
    return _guarded(make_dict_structure_fn(kind, converter, **overrides), dict, "a table")


def _validated(member: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    """Reads a member and has its validator see it at once: the class itself would stop at the
    first that is wrong, and would not say which key it was."""

    def structure(value: Any, kind: Any) -> Any:
        made = converter.structure(value, kind)
        try:
            member.validator(None, member, made)
        except (ValueError, TypeError) as error:
            raise Unfit(_validator_words(error, member.name)) from None
        return made

    return structure


def _validator_words(error: Exception, name: str) -> str:
    """The sentence alone: attrs puts the member and its whole value behind it. The name before it
    is the key that the flaw has anyway."""
    text = str(error.args[0]) if error.args else "is not allowed"
    text = text.removeprefix(f"{name} ").removeprefix(f"'{name}' ")
    return text if len(text) <= MAX_WORDS else f"{text[:MAX_WORDS]}…"


_factories: Any = cols
"""cattrs' own factories, whose types are too loose for a strict checker."""


def _mapping(kind: Any, converter: Converter) -> Callable[..., Any]:
    return _guarded(_factories.mapping_structure_factory(kind, converter), dict, "a table")


def _array(kind: Any, converter: Converter) -> Callable[..., Any]:
    inner = _factories.homogenous_tuple_structure_factory(kind, converter)
    return _guarded(inner, list, "an array")


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def make_converter() -> Converter:
    """A converter for what TOML can say and attrs classes can hold."""
    made = Converter(forbid_extra_keys=True, detailed_validation=True)
    made.register_structure_hook(str, _exactly(str, "a string"))
    made.register_structure_hook(int, _whole)
    made.register_structure_hook(bool, _exactly(bool, "true or false"))
    made.register_structure_hook(float, _number)
    made.register_structure_hook_factory(attrs.has, partial(_table, converter=made))
    made.register_structure_hook_factory(cols.is_mapping, partial(_mapping, converter=made))
    made.register_structure_hook_factory(_is_tuple, partial(_array, converter=made))
    made.register_structure_hook_func(_is_literal, _one_of)
    made.register_structure_hook_func(_is_enum, _member)
    return made


CONVERTER: Final = make_converter()
