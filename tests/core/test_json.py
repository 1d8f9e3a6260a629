"""Free-form JSON: values that no conversion changes, and equality that sees numbers' kinds."""

import copy
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.json import NOTHING, Json, same
from fleetgate.core.testing import json_values


def test_the_empty_object_cannot_be_written_to() -> None:
    with pytest.raises(TypeError):
        cast("Any", NOTHING)["key"] = 1
    assert NOTHING == {}


@given(json_values())
def test_a_value_is_the_same_after_a_trip_through_text(value: Json) -> None:
    assert same(value, json.loads(json.dumps(value)))


@given(json_values())
def test_sameness_does_not_look_at_the_container(value: Json) -> None:
    assert same(value, copy.deepcopy(value))
    assert same([value], (value,))
    assert same({"key": value}, {"key": copy.deepcopy(value)})


@given(json_values(), json_values())
def test_sameness_is_that_of_the_text(one: Json, other: Json) -> None:
    def text(value: Json) -> str:
        return json.dumps(value, sort_keys=True).replace("-0.0", "0.0")

    assert same(one, other) == (text(one) == text(other))


ALMOST: list[tuple[Json, Json]] = [
    (1, True),
    (0, False),
    (1, 1.0),
    (1, "1"),
    (None, False),
    ("", []),
    ([], {}),
    ([1], [True]),
    ([1], [1, 1]),
    (["a", "b"], ["b", "a"]),
    ({"a": 1}, {"a": 1.0}),
    ({"a": 1}, {"b": 1}),
    ({"a": 1}, {"a": 1, "b": 1}),
    (["ab"], ["a", "b"]),
]


@pytest.mark.parametrize(("one", "other"), ALMOST)
def test_what_only_looks_alike_is_not_the_same(one: Json, other: Json) -> None:
    assert not same(one, other)
    assert not same(other, one)


@given(st.dictionaries(st.text(max_size=3), json_values(1), max_size=4))
def test_the_order_of_keys_does_not_matter(value: dict[str, Json]) -> None:
    assert same(value, dict(reversed(value.items())))
