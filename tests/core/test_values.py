"""A value that `value` makes is what attrs would have made of it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest

from fleetgate.core import commands, events
from fleetgate.core.values import value


@value
class Point:
    """With each way in which a member may be left out or shown."""

    x: float
    name: str = "p"
    secret: str = attrs.field(default="s", repr=False)
    remark: str = attrs.field(default="", eq=False)
    size: int = attrs.field(default=0, repr=lambda size: f"<{size}>")


@attrs.frozen
class Twin:
    """The same, all of it by attrs."""

    x: float
    name: str = "p"
    secret: str = attrs.field(default="s", repr=False)
    remark: str = attrs.field(default="", eq=False)
    size: int = attrs.field(default=0, repr=lambda size: f"<{size}>")


@value
class Other:
    """Of the same members as the next."""

    x: Any


@value
class Another:
    """Of the same members as the last."""

    x: Any


@value
class Empty:
    """Without members."""


@value
class Derived(Other):
    """With a member more."""

    y: int = 0


@value
class Own:
    """With methods of its own."""

    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


CASES: list[dict[str, Any]] = [
    {"x": 1},
    {"x": 2},
    {"x": 1.0},
    {"x": 1, "name": "q"},
    {"x": 1, "secret": "t"},
    {"x": 1, "remark": "r"},
    {"x": 1, "size": 3},
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_it_is_compared_hashed_and_shown_as_attrs_does(one: dict[str, Any]) -> None:
    a, twin = Point(**one), Twin(**one)
    assert repr(a) == repr(twin).replace("Twin", "Point")
    for each in CASES:
        b = Point(**each)
        assert (a == b) is (twin == Twin(**each))
        assert (a != b) is (twin != Twin(**each))
        assert a != b or hash(a) == hash(b)
    assert a != twin


def test_values_of_two_classes_differ_whatever_they_hold() -> None:
    assert Other(1) == Other(1) != Another(1)
    assert len({Other(1), Another(1), Other(1), Empty(), Empty()}) == 3
    assert Other(1) != 1
    assert Empty() == Empty()
    assert repr(Empty()) == "Empty()"


def test_one_nan_is_the_same_as_itself_as_it_is_in_a_tuple() -> None:
    nan = float("nan")
    assert Other(nan) == Other(nan)
    assert Point(nan) == Point(nan) != Point(float("nan"))


def test_a_class_that_derives_from_a_value_has_all_members() -> None:
    assert Derived(1, 2) == Derived(1, 2) != Derived(1, 3)
    assert Derived(1) != Other(1)
    assert repr(Derived(1, 2)) == "Derived(x=1, y=2)"


def test_what_holds_something_mutable_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Other([]))


def test_what_a_class_defines_itself_stays() -> None:
    assert Own(1) == Own(2)
    assert (hash(Own(1)), repr(Own(1))) == (7, "own")


def test_what_contains_itself_can_be_shown() -> None:
    inner: list[Any] = []
    outer = Other(inner)
    inner.append(outer)
    assert repr(outer) == "Other(x=[...])"


def test_it_is_frozen_and_has_slots_and_can_be_copied() -> None:
    one = Point(1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        one.x = 2  # type: ignore[misc]
    assert not hasattr(one, "__dict__")
    assert attrs.evolve(one, x=2) == Point(2)
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one


def test_nothing_is_compiled_for_what_every_value_does_alike() -> None:
    """That is the time that a start saves."""
    for one, other in ((Point, Other), (commands.StartRun, events.RunStarted)):
        for name in ("__eq__", "__hash__", "__repr__"):
            assert getattr(one, name) is getattr(other, name)
