"""Mutations that know nothing of what the bytes mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias

NUMBERS: Final = tuple(
    number
    for bits in (7, 8, 14, 15, 16, 20, 24, 31, 32, 53, 63, 64)
    for number in ((1 << bits) - 1, 1 << bits)
)
"""Where a length, a count or a sign turns over."""

TOKENS: Final = (
    *(b"\x00", b"\xff", b"\n", b"\r\n", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\"),
    *(b"null", b"true", b"-0", b"1e999", b"1e-999", b"NaN", b"9" * 30, b"0.1"),
    *(b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000"),
    *(b"\x80" * 10, b"\xff" * 10 + b"\x01", b"\xff\xff\xff\xff\x0f", b"\x80\x00"),
)

MOST: Final = 128 * 1024
"""Bytes that one mutation adds at most."""

_Op: TypeAlias = Callable[[Random, bytearray, Sequence[bytes]], None]


def some(draw: Random) -> int:
    """1, often; 2, less often; and so on."""
    count = 1
    while draw.random() < 0.5 and count < 12:
        count += 1
    return count


def mutate_bytes(draw: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """A few mutations, one after the other."""
    made = bytearray(data)
    for _ in range(some(draw)):
        draw.choice(_OPS)(draw, made, seeds)
    return bytes(made)


def _at(draw: Random, made: bytearray) -> int:
    return draw.randrange(len(made) + 1)


def _span(draw: Random, made: bytearray) -> slice:
    at = _at(draw, made)
    return slice(at, at + draw.choice((1, 1, 2, 4, 8, draw.randrange(1 + len(made)))))


def _flip(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    if made:
        made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)


def _set(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    if made:
        made[draw.randrange(len(made))] = draw.randrange(256)


def _cut(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    del made[_span(draw, made)]


def _end(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    del made[_at(draw, made) :]


def _repeat(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    span = _span(draw, made)
    times = draw.choice((1, 1, 1, 2, 3, 16, 200))
    if times * len(made[span]) <= MOST:  # else a few of these would fill the memory
        made[span.start : span.start] = made[span] * times


def _number(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    size = draw.choice((1, 2, 3, 4, 8))
    number = draw.choice((0, 1, *NUMBERS)) + draw.choice((0, 0, 1, -1))
    piece = (number % (1 << 8 * size)).to_bytes(size, draw.choice(("big", "little")))
    at = _at(draw, made)
    made[at : at + draw.choice((0, size))] = piece


def _noise(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    at = _at(draw, made)
    made[at:at] = draw.randbytes(draw.choice((1, 2, 4, 16, 64)))


def _token(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    span = _span(draw, made)
    made[span.start : draw.choice((span.start, span.stop))] = draw.choice(TOKENS)


def _splice(draw: Random, made: bytearray, seeds: Sequence[bytes]) -> None:
    other = draw.choice(seeds)
    made[_at(draw, made) :] = other[draw.randrange(len(other) + 1) :]


_OPS: Final[tuple[_Op, ...]] = (
    *(_flip, _flip, _set, _cut, _end, _repeat),
    *(_number, _noise, _token, _token, _splice),
)
