"""The strict converter that every JSON codec starts from: values of classes, out of JSON.

`make_converter` gives a cattrs converter that coerces nothing: a class wants an object, a
`str` a string, a `bool` true or false. What does not fit is `Malformed`, with the member's
name and without its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Final, TypeAlias, TypeGuard, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override

from fleetgate.core.json import Json
from fleetgate.protocols.json_text import Malformed, Repeating


@attrs.frozen(slots=True)
class Unsigned:
    """Annotates an `int` that must be from 0 to 2^bits-1."""

    bits: int


U16: TypeAlias = Annotated[int, Unsigned(16)]
U64: TypeAlias = Annotated[int, Unsigned(64)]

Rename: TypeAlias = Callable[[type[Any], str], str]
Hook: TypeAlias = Callable[[Any, Any], Any]


def camel(name: str) -> str:
    """`after_sequence` as `afterSequence`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def make_converter(rename: Rename = lambda _, name: name) -> Converter:
    """A converter that takes JSON values and coerces none.

    Unknown keys are passed over, a missing one is refused unless its member has a default,
    null is refused unless the member is `… | None` or `Json`, a known key that came twice
    (`Repeating`) is refused. Members annotated `Json` take anything; annotate them with
    the name itself, not with a string. `rename` gives a member's key. Whatever is wrong
    is `Malformed`, and names the member.
    """
    converter = Converter(detailed_validation=False)
    for kind, name in ((str, "a string"), (bool, "true or false"), (int, "an integer")):
        converter.register_structure_hook(kind, _exactly(kind, name))
    converter.register_structure_hook(float, _any_number)
    kinds: tuple[tuple[Callable[[Any], bool], Callable[[Any], Hook]], ...] = (
        (lambda kind: isinstance(kind, type) and issubclass(kind, Enum), _enum),
        (lambda kind: get_origin(kind) is _ANNOTATED, _unsigned),
        (lambda kind: get_origin(kind) is _TUPLE, lambda kind: _array(converter, kind)),
        (lambda kind: get_origin(kind) is _MAPPING, lambda kind: _map(converter, kind)),
        (lambda kind: bool(kind == Json), lambda _: _anything),
        (attrs.has, lambda kind: _class(converter, kind, rename)),
    )
    for fits, make in kinds:
        converter.register_structure_hook_factory(fits, make)
    return converter


_ANNOTATED: Final[Any] = Annotated
_TUPLE: Final[Any] = tuple
_MAPPING: Final[Any] = get_origin(Mapping[str, str])


def kind_of(value: object) -> str:
    """What a JSON value is, for an error's text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return "an integer"
        case float():
            return "a number with a fraction or an exponent"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "an array"


def expect(what: str, value: object) -> Malformed:
    """The error for `value` where `what` was expected."""
    return Malformed(f"expected {what}, {kind_of(value)} came")


def _exactly(kind: type[Any], name: str) -> Hook:
    def structure(value: Any, _: Any) -> Any:
        if type(value) is kind:
            return value
        raise expect(name, value)

    return structure


def _any_number(value: Any, _: Any) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    raise expect("a number", value)


def _anything(value: Any, _: Any) -> Any:
    return value


def _enum(kind: type[Enum]) -> Hook:
    members: Mapping[Any, Enum] = {member.value: member for member in kind}

    def structure(value: Any, _: Any) -> Any:
        member = members.get(value) if type(value) is str else None
        if member is None:
            raise Malformed(f"expected one of {', '.join(members)}")
        return member

    return structure


def _unsigned(kind: Any) -> Hook:
    base, unsigned = get_args(kind)
    if base is not int or not isinstance(unsigned, Unsigned):
        raise TypeError(f"{kind} is not an annotation that a strict converter knows")
    last = (1 << unsigned.bits) - 1

    def structure(value: Any, _: Any) -> Any:
        if type(value) is int and 0 <= value <= last:
            return value
        if type(value) is int:
            raise Malformed(f"expected an integer from 0 to {last}")
        raise expect("an integer", value)

    return structure


def _array(converter: Converter, kind: Any) -> Hook:
    item, ellipsis = get_args(kind)
    if ellipsis is not Ellipsis:
        raise TypeError(f"{kind}: a strict converter knows tuples of any length only")
    inner = converter.get_structure_hook(item)

    def structure(value: Any, _: Any) -> Any:
        if not _is_array(value):
            raise expect("an array", value)
        return tuple([inner(each, item) for each in value])

    return structure


def _map(converter: Converter, kind: Any) -> Hook:
    key, item = get_args(kind)
    if key is not str:
        raise TypeError(f"{kind}: the keys of a JSON object are strings")
    if item == Json:
        return _any_object
    inner = converter.get_structure_hook(item)

    def structure(value: Any, _: Any) -> Any:
        members = _any_object(value, _)
        return {name: inner(each, item) for name, each in members.items()}

    return structure


def _any_object(value: Any, _: Any) -> dict[str, Any]:
    if _is_object(value):
        return value
    raise expect("an object", value)


def _is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _class(converter: Converter, kind: type[Any], rename: Rename) -> Hook:
    """Fast where the value is right; where it is not, a second look finds the member."""
    keys = {member.name: rename(kind, member.name) for member in attrs.fields(kind)}
    renamed: Any = {name: override(rename=key) for name, key in keys.items()}
    made: Hook = make_dict_structure_fn(
        kind, converter, _cattrs_detailed_validation=False, **renamed
    )
    known = frozenset(keys.values())

    def structure(value: Any, _: Any) -> Any:
        if not _is_object(value):
            raise expect("an object", value)
        if isinstance(value, Repeating):
            refuse_repeated(value, known)
        try:
            return made(value, kind)
        except Malformed as error:
            raise _located(converter, kind, keys, value, error) from None
        except KeyError as error:
            raise Malformed(f"the key {error.args[0]} is missing") from None

    return structure


def refuse_repeated(value: Repeating, known: frozenset[str]) -> None:
    """Raise `Malformed` if one of the keys that mean something here came more than once."""
    if not known.isdisjoint(value.repeated):
        raise Malformed(f"the key {min(known & value.repeated)} came more than once")


def _located(
    converter: Converter,
    kind: type[Any],
    keys: Mapping[str, str],
    value: Mapping[str, Any],
    error: Malformed,
) -> Malformed:
    for member in attrs.fields(kind):
        key = keys[member.name]
        if key not in value:
            continue
        try:
            converter.get_structure_hook(member.type)(value[key], member.type)
        except Malformed as found:
            return Malformed(f"{key}: {found}")
    return error
