"""Fields of a protobuf message, for the few messages that gRPC itself has.

By hand, since a message class registers its file in the process: those of reflection and health
would then clash with whoever has generated code for them in the same process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

Value: TypeAlias = int | bytes

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_LONGEST: Final = 10
"""Bytes of a 64-bit number."""


def number_field(number: int, value: int) -> bytes:
    """A field that holds a number from 0 up."""
    return _varint(number << 3 | _VARINT) + _varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """A field that holds bytes, text or a message."""
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """The fields in order. Groups are none that gRPC uses.

    Raises: `ValueError`, where it is no protobuf message.
    """
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind = key & 7
        if key < 8:
            raise ValueError("a field has the number 0")
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"a field of the kind {kind} is not known")
        if len(message) - at < size:
            raise ValueError("a field is longer than its message")
        yield key >> 3, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(message[at : at + _LONGEST]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    raise ValueError("a number has no end")


def text(value: Value) -> str:
    """A field as text. Raises: `ValueError`, where it is none."""
    if not isinstance(value, bytes):
        raise ValueError("a number stands where text belongs")
    return value.decode()


def message(value: Value) -> bytes:
    """A field as a message. Raises: `ValueError`, where it is none."""
    if not isinstance(value, bytes):
        raise ValueError("a number stands where a message belongs")
    return value
