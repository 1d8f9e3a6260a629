"""Hypothesis strategies for what the values of this room are made of: texts, numbers, JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fleetgate.core.json import Json

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

LARGEST: Final = (1 << 63) - 1
"""Instants, counts and native numbers are 63-bit everywhere: SQLite holds no more."""


def once(make: F) -> F:
    """Build each strategy once. Building one costs more than drawing from it."""
    return cast("F", cache(make))


@once
def texts(*, min_size: int = 0, max_size: int = 40) -> SearchStrategy[str]:
    """Text that has a UTF-8 form: no lone surrogates, but every other character."""
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size, max_size=max_size)


@once
def words(max_size: int = 12) -> SearchStrategy[str]:
    """Short names of letters, digits, `_`, `-` and `.`, never empty."""
    return st.text("abcxyzABZ019_-.", min_size=1, max_size=max_size)


@once
def counts() -> SearchStrategy[int]:
    """How many of something, or Unix nanoseconds."""
    return st.integers(0, LARGEST)


@once
def json_values(depth: int = 2) -> SearchStrategy[Json]:
    """JSON of every shape, nested up to `depth`: text keys, integers of any size, finite floats."""
    leaf: SearchStrategy[Any] = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        texts(max_size=12),
    )
    if depth == 0:
        return leaf
    inner = json_values(depth - 1)
    return st.one_of(
        leaf,
        st.lists(inner, max_size=3),
        st.dictionaries(texts(max_size=8), inner, max_size=3),
    )


@once
def json_objects() -> SearchStrategy[Mapping[str, Json]]:
    """JSON objects."""
    return st.dictionaries(texts(max_size=8), json_values(1), max_size=2)


def perhaps(strategy: SearchStrategy[T]) -> SearchStrategy[T | None]:
    """None, or one of those."""
    return st.none() | strategy
