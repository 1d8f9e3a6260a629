"""Reflection: a server tells what it serves. `grpc.reflection.v1` and `v1alpha`, which are the
same messages under two names. Questions in, answers out; no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import attrs

from fleetgate.transports.grpc_fields import (
    Value,
    bytes_field,
    fields,
    message,
    number_field,
    text,
)
from fleetgate.transports.grpc_status import INVALID_ARGUMENT, NOT_FOUND

PATHS: Final = (
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
)


@attrs.frozen(slots=True)
class _File:
    name: str
    data: bytes
    imports: tuple[str, ...]
    symbols: frozenset[str]
    extensions: frozenset[tuple[str, int]]


class Reflection:
    """Answers questions about some files."""

    def __init__(self, descriptors: Sequence[bytes], services: Iterable[str]) -> None:
        """`descriptors`: serialized `FileDescriptorProto`s. `services`: full names of those that
        are served.

        Raises: `ValueError`, where a descriptor is none.
        """
        self._files = {file.name: file for file in map(_read_file, descriptors)}
        self._services = sorted(services)

    def answer(self, question: bytes) -> bytes:
        """The answer to one `ServerReflectionRequest`. Raises: `ValueError`, where it is none."""
        host, asked = "", None
        for number, value in fields(question):
            if number == 1:
                host = text(value)
            elif number in _QUESTIONS:
                asked = number, value
        head = bytes_field(1, host.encode()) + bytes_field(2, question)
        if asked is None:
            return head + _error(INVALID_ARGUMENT, "the question asks for nothing known")
        number, value = asked
        found = _QUESTIONS[number](self, value)
        return head + (_error(NOT_FOUND, "there is no such thing here") if found is None else found)

    def _by_name(self, value: Value) -> bytes | None:
        return self._with_imports(self._files.get(text(value)))

    def _by_symbol(self, value: Value) -> bytes | None:
        name = text(value).removeprefix(".")
        return self._with_imports(self._first(lambda file: name in file.symbols))

    def _by_extension(self, value: Value) -> bytes | None:
        kind, wanted = "", 0
        for number, part in fields(message(value)):
            if number == 1:
                kind = text(part)
            elif number == 2 and isinstance(part, int):
                wanted = part
        found = self._first(lambda file: (kind.removeprefix("."), wanted) in file.extensions)
        return self._with_imports(found)

    def _extensions_of(self, value: Value) -> bytes | None:
        kind = text(value).removeprefix(".")
        if self._first(lambda file: kind in file.symbols) is None:
            return None
        numbers = {
            number
            for file in self._files.values()
            for extended, number in file.extensions
            if extended == kind
        }
        listed = b"".join(number_field(2, number) for number in sorted(numbers))
        return bytes_field(5, bytes_field(1, kind.encode()) + listed)

    def _list(self, value: Value) -> bytes | None:
        names = (bytes_field(1, bytes_field(1, name.encode())) for name in self._services)
        return bytes_field(6, b"".join(names))

    def _first(self, wanted: Callable[[_File], bool]) -> _File | None:
        return next((file for file in self._files.values() if wanted(file)), None)

    def _with_imports(self, file: _File | None) -> bytes | None:
        """A file, and behind it all that it needs, so that one question does."""
        if file is None:
            return None
        found: dict[str, _File] = {}
        ahead = [file]
        while ahead:
            each = ahead.pop()
            if each.name not in found:
                found[each.name] = each
                ahead += [self._files[name] for name in each.imports if name in self._files]
        return bytes_field(4, b"".join(bytes_field(1, each.data) for each in found.values()))


_QUESTIONS: Final[Mapping[int, Callable[[Reflection, Value], bytes | None]]] = {
    3: Reflection._by_name,  # pyright: ignore[reportPrivateUsage]
    4: Reflection._by_symbol,  # pyright: ignore[reportPrivateUsage]
    5: Reflection._by_extension,  # pyright: ignore[reportPrivateUsage]
    6: Reflection._extensions_of,  # pyright: ignore[reportPrivateUsage]
    7: Reflection._list,  # pyright: ignore[reportPrivateUsage]
}
"""By the number of the field that asks."""


def _error(status: int, words: str) -> bytes:
    return bytes_field(7, number_field(1, status) + bytes_field(2, words.encode()))


# --- files


def _read_file(data: bytes) -> _File:
    parts: dict[int, list[Value]] = {}
    for number, value in fields(data):
        parts.setdefault(number, []).append(value)
    name = text(parts.get(1, [b""])[0])
    package = text(parts.get(2, [b""])[0])
    imports = tuple(text(value) for value in parts.get(3, ()))
    symbols: set[str] = set()
    extensions: set[tuple[str, int]] = set()
    for value in parts.get(4, ()):
        _read_message(message(value), package, symbols, extensions)
    for value in parts.get(5, ()):
        _read_members(message(value), package, 2, symbols)
    for value in parts.get(6, ()):
        _read_members(message(value), package, 2, symbols)
    for value in parts.get(7, ()):
        _read_extension(message(value), package, symbols, extensions)
    return _File(name, data, imports, frozenset(symbols), frozenset(extensions))


def _read_message(
    data: bytes, scope: str, symbols: set[str], extensions: set[tuple[str, int]]
) -> None:
    """A `DescriptorProto`, with all that is declared in it."""
    name = _joined(scope, _name(data))
    symbols.add(name)
    for number, value in fields(data):
        if number == 3:
            _read_message(message(value), name, symbols, extensions)
        elif number == 4:
            _read_members(message(value), name, 2, symbols)
        elif number == 6:
            _read_extension(message(value), name, symbols, extensions)
        elif number in (2, 8):
            symbols.add(_joined(name, _name(message(value))))


def _read_members(data: bytes, scope: str, member: int, symbols: set[str]) -> None:
    """An enum or a service, with its values or methods."""
    name = _joined(scope, _name(data))
    symbols.add(name)
    for number, value in fields(data):
        if number == member:
            symbols.add(_joined(name, _name(message(value))))


def _read_extension(
    data: bytes, scope: str, symbols: set[str], extensions: set[tuple[str, int]]
) -> None:
    symbols.add(_joined(scope, _name(data)))
    extended, own = "", 0
    for number, value in fields(data):
        if number == 2:
            extended = text(value).removeprefix(".")
        elif number == 3 and isinstance(value, int):
            own = value
    extensions.add((extended, own))


def _name(data: bytes) -> str:
    return next((text(value) for number, value in fields(data) if number == 1), "")


def _joined(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
