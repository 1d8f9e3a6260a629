"""docs/reference/script.schema.json: as what reads scripts, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.gateway.config_reader import Flawed
from fleetgate.gateway.local import script_steps
from fleetgate.gateway.local.script_schema import schema

STEPS: list[dict[str, Any]] = schema()["$defs"]["step"]["oneOf"]


def _sample(shape: dict[str, Any]) -> Any:
    """The least that a shape takes."""
    if "const" in shape:
        return shape["const"]
    if "$ref" in shape:
        return {"text": "x"}
    if shape.get("type") == "object":
        return {name: _sample(shape["properties"][name]) for name in shape.get("required", ())}
    kind = shape.get("type")
    known = {"string": "x", "integer": shape.get("minimum", 0), "boolean": True, "array": []}
    return known[kind[0] if isinstance(kind, list) else kind]


def _bounds(shape: dict[str, Any]) -> list[Any]:
    """Values just outside of a shape."""
    bad: list[Any] = [[]] if shape.get("type") != "array" else [{}]
    bad += [shape[key] + by for key, by in (("minimum", -1), ("maximum", 1)) if key in shape]
    return bad + ([""] if "minLength" in shape else [])


def test_every_step_has_its_shape() -> None:
    assert script_steps.SHAPES.keys() == script_steps._READERS.keys()
    assert len(STEPS) == len(script_steps.SHAPES) + 1


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["required"][0])
def test_the_least_of_a_step_is_read_and_what_is_outside_is_not(step: dict[str, Any]) -> None:
    least = _sample(step)
    assert len(script_steps.read_steps([least])) == 1
    name = step["required"][0]
    shape = step["properties"][name]
    wrong = [{**least, "nothing": 1}, *({**least, name: value} for value in _bounds(shape))]
    if shape.get("type") == "object":
        inner = least[name]
        wrong += [{name: {**inner, "nothing": 1}}]
        wrong += [{name: {k: v for k, v in inner.items() if k != key}} for key in inner]
        wrong += [
            {name: {**inner, key: value}}
            for key, each in shape["properties"].items()
            if each
            for value in _bounds(each)
        ]
    for value in wrong:
        with pytest.raises(Flawed):
            script_steps.read_steps([value])
