"""A live message beside a recorded one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from fleetgate.core.testing import json_values
from fleetgate.gateway.recording.comparing import (
    NOTHING_THERE,
    SHOWN,
    Comparison,
    Difference,
    Manner,
    shown,
)
from fleetgate.gateway.recording.names import Names
from fleetgate.protocols.explaining import Explainer


class Known(Explainer):
    ids = frozenset({"id", "ids"})
    times = frozenset({"at"})


def compare(expected: Any, got: Any, manner: Manner = "values") -> Any:
    return Comparison(Known(), Names(), manner).first(expected, got)


@pytest.mark.parametrize(
    ("expected", "got", "path"),
    [
        ({"a": 1}, {"a": 2}, "a"),
        ({"a": 2}, {"a": 2.0}, "a"),
        ({"a": 0}, {"a": False}, "a"),
        ({"a": {"b": [1, {"c": "x"}]}}, {"a": {"b": [1, {"c": "y"}]}}, "a.b[1].c"),
        ({"a": 1}, {}, "a"),
        ({}, {"a": 1}, "a"),
        ({"a": [1, 2]}, {"a": [1]}, "a[1]"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]"),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": None}, {"a": ""}, "a"),
        ({"at": 5}, {"at": "x"}, "at"),
        ([], {}, ""),
    ],
)
def test_the_first_difference_has_its_path(expected: Any, got: Any, path: str) -> None:
    found = compare(expected, got)
    assert found is not None
    assert found[0] == path


def test_names_and_times_may_be_others_if_they_hold_together() -> None:
    assert compare({"id": "a", "at": 5}, {"id": "b", "at": 6}) is None
    assert compare([{"id": "a"}, {"id": "a"}], [{"id": "x"}, {"id": "x"}]) is None
    assert compare([{"id": "a"}, {"id": "a"}], [{"id": "x"}, {"id": "y"}]) == ("[1].id", "x", "y")
    assert compare({"ids": ["a", "b"]}, {"ids": ["x", "x"]}) == ("ids[1]", "b", "x")
    assert compare({"id": None}, {"id": "x"}) == ("id", None, "x")


def test_of_a_shape_only_kinds_and_members_count() -> None:
    assert compare({"a": 1, "b": ["x"]}, {"a": 2, "b": ["y", "z"]}, "shape") is None
    assert compare({"a": 1}, {"a": "1"}, "shape") == ("a", 1, "1")
    assert compare({"a": 1}, {}, "shape") == ("a", 1, NOTHING_THERE)
    assert compare({"b": ["x"]}, {"b": [1]}, "shape") == ("b[0]", "x", 1)
    assert compare({"b": []}, {"b": [1]}, "shape") is None


@given(json_values())
def test_everything_is_like_itself(value: Any) -> None:
    for manner in ("values", "strict", "shape"):
        assert compare(value, value, manner) is None


@pytest.mark.limit("gateway/recording/comparing.SHOWN")
def test_a_difference_is_one_sentence() -> None:
    found = Difference(12, "command_event, from the worker", "exit.code", "0", "1")
    assert str(found) == "frame 12 (command_event, from the worker) at exit.code: expected 0, got 1"
    assert shown(NOTHING_THERE) == "nothing"
    assert shown({"a": "é"}) == '{"a": "é"}'
    assert len(shown("x" * 5000)) < SHOWN + 40
