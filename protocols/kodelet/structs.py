"""Go's structs as attrs classes: out of JSON and into it, by the rules of W 4.4.

Every member has a default, its zero value: absent, null and zero are the same thing. Member
names are camelCase unless `field` names another. `omit` leaves a zero member out when written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import attrs

from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import go_json
from fleetgate.protocols.strict import U64, camel, expect

_T = TypeVar("_T")
Read = Callable[[Any], Any]


def field(default: Any, *, omit: bool = False, name: str | None = None) -> Any:
    """A member: its zero value, whether zero is left out, and its name if it is no camelCase."""
    return attrs.field(default=default, metadata={"omit": omit, "name": name})


@attrs.frozen(slots=True)
class _Member:
    attribute: str
    name: str
    omit: bool
    default: Any
    read: Read
    free: bool
    """Whether it is JSON of any form, written as it is."""


# --- reading


def read(kind: type[_T], value: Any) -> _T:
    """A value of the class; null is the zero value, unknown members are passed over.

    Raises: `Malformed`, which names the member and not its value.
    """
    if value is None:
        return kind()
    if not go_json.is_object(value):
        raise expect("an object", value)
    given: dict[str, Any] = {}
    exact, folded = _index(kind)
    for key, each in value.items():
        found = exact.get(key) or folded.get(key.casefold())
        if found is None or len(key) != len(found.name):
            continue
        try:
            given[found.attribute] = found.default if each is None else found.read(each)
        except Malformed as error:
            raise Malformed(f"{found.name}: {error}") from None
    return kind(**given)


_INDEXES: Final[dict[Any, tuple[Mapping[str, _Member], Mapping[str, _Member]]]] = {}
"""What is known of each class that was met: as many as this package has."""


def _index(kind: Any) -> tuple[Mapping[str, _Member], Mapping[str, _Member]]:
    """A class's members in order, by their names, and by those as `go_json.matches` compares them:
    an object may have some hundred thousand members that no class knows."""
    known = _INDEXES.get(kind)
    if known is None:
        attrs.resolve_types(kind, include_extras=True)
        members = tuple(_member(each) for each in attrs.fields(kind))
        exact = {each.name: each for each in members}
        known = _INDEXES[kind] = (exact, {each.name.casefold(): each for each in members})
    return known


def _members(kind: Any) -> Iterable[_Member]:
    return _index(kind)[0].values()


def _member(of: attrs.Attribute[Any]) -> _Member:
    name = of.metadata.get("name") or camel(of.name)
    omit = bool(of.metadata.get("omit"))
    return _Member(of.name, name, omit, of.default, _reader(of.type), _is_free(of.type))


def _alternatives(kind: Any) -> list[Any]:
    """What a union is of, beside None; nothing for other types."""
    if get_origin(kind) not in (Union, UnionType):
        return []
    return [each for each in get_args(kind) if each is not NoneType]


def _is_free(kind: Any) -> bool:
    """Whether it is `Json`: the one union of several kinds, which resolving has unfolded."""
    return len(_alternatives(kind)) > 1


def _reader(kind: Any) -> Read:
    if _is_free(kind):
        return _json
    if kind in _SCALARS:
        return _SCALARS[kind]
    if alternatives := _alternatives(kind):
        return _reader(alternatives[0])
    if get_origin(kind) is tuple:
        return _list(_item(get_args(kind)[0]))
    if attrs.has(kind):
        return lambda value: read(kind, value)
    return _map(_item(get_args(kind)[1]))


def _item(kind: Any) -> Read:
    """What reads an element of a list or a map: null is its zero value there, too."""
    of = _reader(kind)
    zero = _ZEROS.get(kind)
    return of if zero is None else lambda value: zero if value is None else of(value)


def _exactly(kind: type, what: str) -> Read:
    def check(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise expect(what, value)

    return check


def _integer(low: int, high: int) -> Read:
    def check(value: Any) -> int:
        if isinstance(value, go_json.Spelt) and value.text == "-0" and low < 0:
            return 0  # an integer literal, whose sign counts in free-form JSON only
        if type(value) is not int:
            raise expect("an integer", value)
        if not low <= value <= high:
            raise Malformed(f"expected an integer from {low} to {high}")
        return value

    return check


def _json(value: Any) -> Any:
    if not go_json.finite(value):
        raise Malformed("a number is too large for a 64-bit float")
    return value


_SCALARS: Final[Mapping[Any, Read]] = {
    str: _exactly(str, "a string"),
    bool: _exactly(bool, "true or false"),
    int: _integer(-(2**63), 2**63 - 1),
    U64: _integer(0, 2**64 - 1),
}
assert get_origin(U64) is Annotated
_ZEROS: Final[Mapping[Any, Any]] = {str: "", bool: False, int: 0, U64: 0}


def _list(item: Read) -> Read:
    def convert(value: Any) -> Any:
        if not go_json.is_array(value):
            raise expect("an array", value)
        return tuple(item(each) for each in value)

    return convert


def _map(item: Read) -> Read:
    def convert(value: Any) -> Any:
        if not go_json.is_object(value):
            raise expect("an object", value)
        return {key: item(each) for key, each in value.items()}

    return convert


# --- writing


def kind_of(value: Any) -> type[Any]:
    """The class of a value."""
    kind: type[Any] = value.__class__
    return kind


def is_struct(value: Any) -> bool:
    """Whether it is of one of the classes here, and no JSON."""
    kind = kind_of(value)
    known = _STRUCTS.get(kind)
    if known is None:
        known = _STRUCTS[kind] = attrs.has(kind)  # it looks for a generic's origin each time
    return known


_STRUCTS: Final[dict[Any, bool]] = {}
"""Which classes that were met are of this package, and which of JSON: a handful."""


def write(value: Any) -> Any:
    """The value as plain JSON, members in the order of their class."""
    if is_struct(value):
        written: dict[str, Any] = {}
        for each in _members(kind_of(value)):
            held = getattr(value, each.attribute)
            zero = held is None if each.free else _is_zero(held)
            if not (each.omit and zero):
                written[each.name] = held if each.free else write(held)
        return written
    if go_json.is_tuple(value):
        return [write(each) for each in value]
    return value


def _is_zero(value: Any) -> bool:
    return value is None or (not is_struct(value) and not value)


def names(kind: type[Any]) -> Mapping[str, str]:
    """The wire names of a class's members by their attributes, in order."""
    return {each.attribute: each.name for each in _members(kind)}
