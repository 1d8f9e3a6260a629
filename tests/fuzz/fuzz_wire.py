"""Mutations of protobuf messages as protobuf: fields, wire types, varints, nesting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, TypeAlias

import attrs
from fuzz_bytes import MOST, NUMBERS, mutate_bytes, some

VARINT, FIXED64, BYTES, OPEN, SHUT, FIXED32 = range(6)

TEXTS: Final = (
    *(b"", b" ", b"a", b"\x00", b"\xff", b"\xed\xa0\x80", "é".encode(), b"\xf0\x9f\x98\x80"),
    *(b"a" * 300, b"b" * 2000, b"../..", b"\x1b[2J", b"0" * 32, b"true", b"-1"),
)


def varint(value: int, size: int = 0) -> bytes:
    """A number; in `size` bytes at least, which protobuf allows and nobody writes."""
    made = bytearray()
    while value > 0x7F or len(made) + 1 < size:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*made, value))


@attrs.frozen
class Field:
    """A field as it stands in a message. `body`: bytes behind the key, without a length."""

    number: int
    kind: int
    body: bytes

    def written(self) -> bytes:
        """It as bytes."""
        size = varint(len(self.body)) if self.kind == BYTES else b""
        return varint(self.number << 3 | self.kind) + size + self.body


def split(data: bytes) -> list[Field] | None:
    """The fields of a message; None where it is none, or has groups."""
    fields: list[Field] = []
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        number, kind = key >> 3, key & 7
        start = at
        if kind == VARINT:
            _, at = _number(data, at)
        elif kind == BYTES:
            size, start = _number(data, at)
            at = start + size
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
        else:
            return None
        if at > len(data) or not number or start < 0:
            return None
        fields.append(Field(number, kind, data[start:at]))
    return fields


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    return 0, len(data) + 1


_Bend: TypeAlias = Callable[[Random, list[Field], Sequence[bytes]], None]


def wired(descriptor: Any) -> Callable[[Random, bytes, Sequence[bytes]], bytes]:
    """Mutations of messages of this type: what stands in them, and fields that do not."""

    def mutate(draw: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
        for _ in range(some(draw)):
            data = _bent(draw, data, seeds, descriptor)
        return mutate_bytes(draw, data, seeds) if draw.random() < 0.125 else data

    return mutate


def _bent(draw: Random, data: bytes, seeds: Sequence[bytes], descriptor: Any) -> bytes:
    fields = split(data)
    if fields is None:
        return mutate_bytes(draw, data, seeds)
    inside = [at for at, field in enumerate(fields) if field.kind == BYTES and field.body]
    if inside and draw.random() < 0.65:
        at = draw.choice(inside)
        field = fields[at]
        inner = _inner(descriptor, field.number)
        if inner is not None or draw.random() < 0.2:
            body = _bent(draw, field.body, (field.body,), inner)
            fields[at] = attrs.evolve(field, body=body)
        else:
            fields[at] = attrs.evolve(field, body=_text(draw, field.body))
    elif descriptor is not None and draw.random() < 0.4:
        fields.insert(draw.randrange(len(fields) + 1), _drawn(draw, descriptor))
    else:
        draw.choice(_BENDS)(draw, fields, seeds)
    return b"".join(field.written() for field in fields)


def _inner(descriptor: Any, number: int) -> Any:
    """The type of a member that is a message; None for any other."""
    if descriptor is None:
        return None
    field = descriptor.fields_by_number.get(number)
    return None if field is None else field.message_type


def _drawn(draw: Random, descriptor: Any, depth: int = 0) -> Field:
    """A member that the schema has, with a value that it may have, or with a hostile one."""
    if not descriptor.fields:
        return Field(draw.randrange(1, 20), VARINT, varint(draw.choice(NUMBERS)))
    field = draw.choice(descriptor.fields)
    if field.message_type is not None:
        inside = draw.randrange(4) if depth < 4 else 0
        parts = [_drawn(draw, field.message_type, depth + 1) for _ in range(inside)]
        return Field(field.number, BYTES, b"".join(part.written() for part in parts))
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
        return Field(field.number, BYTES, _text(draw, b""))
    if field.type in (field.TYPE_DOUBLE, field.TYPE_FIXED64, field.TYPE_SFIXED64):
        special = (bytes(8), b"\0" * 6 + b"\xf0\x7f", b"\1" * 6 + b"\xf8\x7f", draw.randbytes(8))
        return Field(field.number, FIXED64, draw.choice(special))
    if field.type in (field.TYPE_FLOAT, field.TYPE_FIXED32, field.TYPE_SFIXED32):
        return Field(field.number, FIXED32, draw.randbytes(4))
    return Field(field.number, VARINT, varint(draw.choice((0, 1, 2, 3, 7, *NUMBERS))))


def _text(draw: Random, body: bytes) -> bytes:
    drawn = draw.choice(TEXTS) if draw.random() < 0.99 else b"c" * 66_000
    at = draw.randrange(len(body) + 1)
    return draw.choice((drawn, body[:at] + drawn[:64] + body[at:], body[:at], body[at:]))


def _drop(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    if fields:
        del fields[draw.randrange(len(fields))]


def _again(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    if fields:
        field, times = draw.choice(fields), draw.choice((1, 1, 2, 30, 1000))
        fields += [field] * min(times, 1 + MOST // (1 + len(field.body)))


def _moved(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    draw.shuffle(fields)


def _renumbered(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    if fields:
        at = draw.randrange(len(fields))
        number = draw.choice((draw.randrange(1, 24), 0, 15, 16, 2047, (1 << 29) - 1, 1 << 29))
        fields[at] = attrs.evolve(fields[at], number=number)


def _retyped(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    if fields:
        at = draw.randrange(len(fields))
        kind = draw.choice((VARINT, FIXED64, BYTES, OPEN, SHUT, FIXED32, 6, 7))
        fields[at] = attrs.evolve(fields[at], kind=kind)


def _counted(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    numbers = [at for at, field in enumerate(fields) if field.kind == VARINT]
    number = varint(draw.choice((0, 1, *NUMBERS)), draw.choice((0, 0, 0, 5, 10, 11)))
    if numbers:
        at = draw.choice(numbers)
        fields[at] = attrs.evolve(fields[at], body=number)
    else:
        fields.append(Field(draw.randrange(1, 24), VARINT, number))


def _deeper(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    if fields:
        at = draw.randrange(len(fields))
        number, body = fields[at].number, fields[at].body
        for _ in range(draw.choice((1, 3, 40, 99, 100, 101, 150, 600))):
            body = Field(number, BYTES, body).written()
        fields[at] = Field(number, BYTES, body)


def _group(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    number, depth = draw.randrange(1, 40), draw.choice((1, 1, 2, 120, 3000))
    at = draw.randrange(len(fields) + 1)
    shut = draw.choice((depth, depth, depth - 1, 0))
    fields[at:at] = [Field(number, OPEN, b"")] * depth + [Field(number, SHUT, b"")] * shut


def _spliced(draw: Random, fields: list[Field], seeds: Sequence[bytes]) -> None:
    fields += split(draw.choice(seeds)) or []


_BENDS: Final[tuple[_Bend, ...]] = (
    *(_drop, _drop, _again, _moved, _renumbered, _retyped),
    *(_counted, _counted, _deeper, _group, _spliced, _spliced),
)
