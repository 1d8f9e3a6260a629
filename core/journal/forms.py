"""How a value of the core and a message of the same members become one another.

A record's message has the members of its value, so the two are not translated by hand:
`Form` reads the message's descriptor once and knows. A member of one side that the
other lacks is an error at import, never a loss in a journal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar, cast

import attrs
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from fleetgate.core.json import Json

V = TypeVar("V")
Fields = dict[str, Any]
"""A message as a dict of its fields, which protobuf builds faster than nested messages."""
Put = Callable[[Any], Any]
Take = Callable[[Any], Any]


@attrs.frozen(slots=True)
class _Member:
    """One member of a value: where it comes from, and its way into a message's fields
    (`put` gives some of them) and back (`take` reads the message)."""

    name: str
    put: Callable[[Any, Fields], None]
    take: Take


def descriptor_of(message: type[Message]) -> Descriptor:
    """A message class's descriptor, under the type that its interface has."""
    return cast("Descriptor", message.DESCRIPTOR)


class Forms:
    """The forms of a set of value classes, found by name: those of messages and enums that
    the members of other messages have."""

    def __init__(self, *values: type) -> None:
        self._values: Final = {value.__name__: value for value in values}
        self._made: dict[str, Form[Any]] = {}

    def form(self, message: Descriptor) -> Form[Any]:
        """The form of the value class that has this message's name.

        Raises: `TypeError` where there is none, or where members differ.
        """
        if message.name not in self._made:
            self._made[message.name] = Form(self.value(message.name), message, self)
        return self._made[message.name]

    def value(self, name: str) -> type:
        """The value class (an enum too) of this name."""
        if name not in self._values:
            raise TypeError(f"no value class stands for the record {name}; give it to Forms")
        return self._values[name]


class Form(Generic[V]):
    """The form of one value class. `apart` names members that are kept elsewhere.

    Raises: `TypeError` where the members differ from the message's.
    """

    def __init__(
        self, value: type[V], message: Descriptor, forms: Forms, apart: frozenset[str] = frozenset()
    ) -> None:
        self.kind: Final = value
        members = _members(message, forms)
        _compare(value, apart, message.full_name, {member.name for member in members})
        self._takes: Final = [(member.name, member.take) for member in members]
        self._puts: Final = [member.put for member in members]

    def fields(self, value: V) -> Fields:
        """The message of `value`, as a dict of its fields."""
        fields: Fields = {}
        for put in self._puts:
            put(value, fields)
        return fields

    def value(self, message: Message, **apart: object) -> V:
        """The value that `message` stands for, with the members that are kept `apart`."""
        taken = {name: take(message) for name, take in self._takes}
        return self.kind(**taken, **apart)


def _compare(value: type, apart: frozenset[str], record: str, found: set[str]) -> None:
    wanted = {field.name for field in attrs.fields(cast("type[attrs.AttrsInstance]", value))}
    if wanted - apart != found:
        names = ", ".join(sorted((wanted - apart) ^ found))
        raise TypeError(
            f"{value.__name__} and its record {record} differ in: {names}; "
            "give every member a field in schemas/journal/v1 and run `just proto`"
        )


def _members(message: Descriptor, forms: Forms) -> list[_Member]:
    members = [_oneof(oneof, forms) for oneof in message.oneofs if not _is_presence(oneof)]
    for field in message.fields:
        if field.containing_oneof is None or _is_presence(field.containing_oneof):
            members.append(_member(field, forms))
    return members


def _is_presence(oneof: OneofDescriptor) -> bool:
    """Whether protoc made the oneof for an `optional` field."""
    return oneof.name.startswith("_")


def _oneof(oneof: OneofDescriptor, forms: Forms) -> _Member:
    """A member that is a union: one field for each class of it."""
    name = oneof.name
    made = [(field.name, forms.form(_message_type(field))) for field in oneof.fields]
    by_class = {form.kind: (field, form.fields) for field, form in made}
    by_field = {field: (attrgetter(field), form.value) for field, form in made}

    def put(value: Any, fields: Fields) -> None:
        inner = getattr(value, name)
        field, encode = by_class[type(inner)]
        fields[field] = encode(inner)

    def take(message: Any) -> Any:
        get, decode = by_field[message.WhichOneof(name)]
        return decode(get(message))

    return _Member(name, put, take)


def _message_type(field: FieldDescriptor) -> Descriptor:
    if field.message_type is None:
        raise TypeError(f"{field.full_name}: every field of a oneof must be a message")
    return field.message_type


def _member(field: FieldDescriptor, forms: Forms) -> _Member:
    name, get = field.name, attrgetter(field.name)
    convert, take = _ways(field, forms)

    def put(value: Any, fields: Fields) -> None:
        fields[name] = get(value)

    def put_converted(value: Any, fields: Fields) -> None:
        given = get(value)
        if given is not None:
            fields[name] = convert(given)

    return _Member(name, put if convert is _as_it_is else put_converted, take)


def _ways(field: FieldDescriptor, forms: Forms) -> tuple[Put, Take]:
    """What a field makes of a member that is not None, and how a message gives it back."""
    name, get = field.name, attrgetter(field.name)
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        return dict, lambda message: dict(get(message))
    if kind is not None and kind.name == "Json" and field.is_repeated:
        return _json_list, lambda message: tuple(_from_json(item) for item in get(message))
    if field.is_repeated:
        return _as_it_is, lambda message: tuple(get(message))
    if field.enum_type is not None:
        return _enum_ways(field.enum_type, get, forms)
    if kind is None and not field.has_presence:
        return _as_it_is, get
    put, inner = (_as_it_is, _as_it_is) if kind is None else _message_ways(kind, forms)
    return put, lambda message: inner(get(message)) if message.HasField(name) else None


def _message_ways(kind: Descriptor, forms: Forms) -> tuple[Put, Take]:
    if kind.name == "Json":
        return _json, _from_json
    if kind.name == "Words":
        return lambda words: {"words": words}, lambda message: tuple(message.words)
    form = forms.form(kind)
    return form.fields, form.value


def _enum_ways(record: EnumDescriptor, get: Take, forms: Forms) -> tuple[Put, Take]:
    numbers = {value.name: value.number for value in record.values}
    prefix = next(iter(numbers)).removesuffix("UNSPECIFIED")
    members = list(cast("type[Enum]", forms.value(record.name)))
    missing = [member.name for member in members if prefix + member.name not in numbers]
    if missing:
        raise TypeError(f"{record.full_name} lacks {', '.join(missing)}")
    to_number = {member: numbers[prefix + member.name] for member in members}
    to_member = {number: member for member, number in to_number.items()}
    return to_number.__getitem__, lambda message: to_member[get(message)]


def _as_it_is(value: Any) -> Any:
    return value


def _json(value: Json) -> Fields:
    return {"text": json_text(value)}


def _json_list(values: tuple[Json, ...]) -> list[Fields]:
    return [_json(value) for value in values]


def _from_json(message: Any) -> Json:
    return cast("Json", json.loads(message.text))


def json_text(value: Json) -> bytes:
    """A JSON value as exact text. Every mapping is an object, every sequence an array.

    Raises: `ValueError` for what JSON cannot hold, or nests too deep to be read again.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a value cannot be kept as JSON: {error}") from None
    return text.encode("utf-8", "surrogatepass")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Json]", value))
    raise TypeError(f"it holds a {type(value).__name__}")
