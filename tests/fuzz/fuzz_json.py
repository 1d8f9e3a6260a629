"""Mutations of JSON text as JSON: what a parser takes, and the code behind it must."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any, Final, TypeAlias

from fuzz_bytes import MOST, mutate_bytes, some


class Raw(str):
    """Text of the document as it is, well-formed or not."""

    __slots__ = ()


class Members(list[tuple[Any, Any]]):
    """An object, in which a key may come again."""


NUMBERS: Final = tuple(
    map(
        Raw,
        (
            *("0", "-0", "-0.0", "1", "-1", "0.5", "1e0", "1.0", "1e2", "1E+2", "1e-400", "1e400"),
            *("127", "128", "255", "256", "65536", "2147483647", "2147483648", "4294967296"),
            *("9007199254740993", "9223372036854775807", "9223372036854775808", "-1e3"),
            *("18446744073709551615", "18446744073709551616", "-9223372036854775809"),
            *("123456789012345678901", "9" * 400, "1" + "0" * 5000, "0." + "1" * 400, "1e1000000"),
            *("NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "0x1", "1_0", "--1"),
        ),
    )
)
STRINGS: Final = (
    *(Raw('""'), Raw('" "'), Raw('"\\ud800"'), Raw('"\\udc00\\ud800"'), Raw('"\\ud83d\\ude00"')),
    *(Raw('"\\u0000"'), Raw('"\\uFEFF"'), Raw('"\ud800"'), Raw('"\x00"'), Raw('"\\x"'), Raw('"')),
    *("true", "1", "null", "\u2028\u2029<>&", "é", "\U0001f600", "\x1b[2J", "\x7f\x85", "K"),
    *("../../etc/passwd", "a" * 500, "{}", "%s%n{0}", "x" * 300, "\r\n", "é" * 4096),
)
COUNTS: Final = tuple(map(Raw, ("0", "1", "2", "3", "7", "100", "65536", "9007199254740993")))
WORDS: Final = ("", "a", "r1", "run-1", "é€\U0001f600", "\x00\x1b[2J", "x" * 300, "w " * 600, "\n")
OTHERS: Final = (None, True, False, Raw(""), Raw("nul"), Raw("{}"), Raw("[]"), Raw("{,}"))

_Bend: TypeAlias = Callable[[Random, Any, Sequence[Any]], Any]


@cache
def tree_of(data: bytes) -> Any:
    """The document, its objects as `Members`; a string where it is none."""
    try:
        return json.loads(data, object_pairs_hook=Members, parse_float=Raw, parse_int=Raw)
    except (ValueError, RecursionError):
        return data.decode("latin-1")


def text_of(node: Any) -> str:
    """A tree as text."""
    match node:
        case Raw():
            return node
        case str():
            return json.dumps(node, ensure_ascii=False)
        case Members():
            return f"{{{','.join(f'{text_of(key)}:{text_of(each)}' for key, each in node)}}}"
        case list():
            return f"[{','.join(map(text_of, node))}]"
        case _:
            return json.dumps(node)


def mutate_json(draw: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Mutations of the tree; of the text, too, in every eighth."""
    node = tree_of(data)
    others = [tree_of(draw.choice(seeds)) for _ in range(2)]
    for _ in range(some(draw)):
        node = _bent(draw, node, others)
    made = text_of(node).encode("utf-8", "surrogatepass")
    return mutate_bytes(draw, made, seeds) if draw.random() < 0.125 else made


def led(lead: bytes) -> Callable[[Random, bytes, Sequence[bytes]], bytes]:
    """The same for documents behind a lead of so many bytes, which is mutated seldom."""
    size = len(lead)

    def mutate(draw: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
        if draw.random() < 0.05:
            return mutate_bytes(draw, data, seeds)
        bodies = [each[size:] for each in seeds]
        return data[:size] + mutate_json(draw, data[size:], bodies)

    return mutate


def _bent(draw: Random, node: Any, others: Sequence[Any]) -> Any:
    """The tree with one place of it bent; what is not on the way there is shared."""
    if isinstance(node, list) and node and draw.random() < 0.75:
        at = draw.randrange(len(node))
        copy = type(node)(node)
        inner = copy[at]
        if isinstance(node, Members):
            key, each = inner
            copy[at] = (key, _bent(draw, each, others))
        else:
            copy[at] = _bent(draw, inner, others)
        return copy
    if isinstance(node, Members) and draw.random() < 0.7:
        return draw.choice(_OF_OBJECTS)(draw, node, others)
    return draw.choice(_OF_ANY)(draw, node, others)


def _part(draw: Random, others: Sequence[Any]) -> Any:
    """A part of another document."""
    node = draw.choice(others)
    while isinstance(node, list) and node and draw.random() < 0.8:
        node = draw.choice(node)
        if isinstance(node, tuple):
            node = node[1]
    return node


def _scalar(draw: Random, node: Any, others: Sequence[Any]) -> Any:
    if draw.random() < 0.5:
        return _alike(draw, node)
    return draw.choice(draw.choice((NUMBERS, STRINGS, OTHERS)))


def _alike(draw: Random, node: Any) -> Any:
    """Another value of the same kind, which most readers take."""
    match node:
        case bool():
            return not node
        case Raw():
            return draw.choice(COUNTS)
        case str():
            return draw.choice(WORDS)
        case _:
            return node


def _other(draw: Random, node: Any, others: Sequence[Any]) -> Any:
    return _part(draw, others)


def _nested(draw: Random, node: Any, others: Sequence[Any]) -> Any:
    times = draw.choice((1, 2, 5, 50, 119, 120, 121, 126, 127, 128, 130, 400, 3000))
    head, tail = draw.choice((("[", "]"), ('{"a":', "}"), ('[{"type":', "}]")))
    return Raw(head * times + text_of(node) + tail * times)


def _many(draw: Random, node: Any, others: Sequence[Any]) -> Any:
    times = draw.choice((0, 1, 2, 17, 300, 5000))
    return [node] * min(times, MOST // (1 + len(text_of(node))))


def _longer(draw: Random, node: Any, others: Sequence[Any]) -> Any:
    if isinstance(node, str) and not isinstance(node, Raw):
        at = draw.randrange(len(node) + 1)
        piece = draw.choice(("", "\ud800", "\x00", "€", " ", "/", "z" * 2000, "%"))
        return node[:at] + (piece if draw.random() < 0.97 else "z" * 70_000) + node[at:]
    return _scalar(draw, node, others)


def _without(draw: Random, node: Members, others: Sequence[Any]) -> Any:
    copy = Members(node)
    if copy:
        del copy[draw.randrange(len(copy))]
    return copy


def _again(draw: Random, node: Members, others: Sequence[Any]) -> Any:
    copy = Members(node)
    if copy:
        key, each = draw.choice(node)
        each = draw.choice((each, _scalar(draw, each, others)))
        copy.insert(draw.randrange(len(copy) + 1), (key, each))
    return copy


def _renamed(draw: Random, node: Members, others: Sequence[Any]) -> Any:
    copy = Members(node)
    if copy:
        at = draw.randrange(len(copy))
        key, each = copy[at]
        name = str(key)
        names = (name.upper(), name.capitalize(), name + "s", "", "\ud800", "type", "id", "\u017f")
        copy[at] = (draw.choice(names), each)
    return copy


def _wider(draw: Random, node: Members, others: Sequence[Any]) -> Any:
    copy = Members(node)
    taken = draw.choice(others)
    pairs = list(taken) if isinstance(taken, Members) and taken else [("unknown", True)]
    for _ in range(draw.choice((1, 1, 2, 50))):
        copy.append(draw.choice(pairs))
    return copy


def _shuffled(draw: Random, node: Members, others: Sequence[Any]) -> Any:
    copy = Members(node)
    draw.shuffle(copy)
    return copy


_OF_ANY: Final[tuple[_Bend, ...]] = (
    *(_scalar, _scalar, _scalar, _scalar, _other, _other, _nested, _many, _longer, _longer),
)
_OF_OBJECTS: Final[tuple[_Bend, ...]] = (_without, _again, _renamed, _wider, _shuffled)
