"""The schema of scripts, as JSON Schema: for editors, and for those who write scripts by program.

It is made of what reads them, so that it cannot say anything else.
"""

from __future__ import annotations

import types
import typing
from typing import Any, Final

import attrs

from fleetgate.gateway.local.script import USAGE_KEYS
from fleetgate.gateway.local.script_steps import MAX_REPEAT, MAX_SLEEP, SHAPES

_WORDS: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    type(None): {"type": "null"},
    Any: {},
}
_STEPS: Final = {"type": "array", "items": {"$ref": "#/$defs/step"}}


def schema() -> dict[str, Any]:
    """The schema of a script file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A script of fleetgate's workers",
        "description": "docs/reference/local.md says what each step does.",
        **_object({"when": {"type": "array", "items": _rule()}, "usage": _usage()}),
        "$defs": {"step": {"oneOf": [_repeat(), *map(_step, SHAPES)]}},
    }


def _rule() -> dict[str, Any]:
    match = {"type": "string", "format": "regex"}
    return _object({"match": match, "do": _STEPS}, "match", "do")


def _usage() -> dict[str, Any]:
    keys: dict[str, Any] = {key: {} for key in USAGE_KEYS}
    return _object(keys | {"delay_ms": {"type": "integer", "minimum": 0, "maximum": MAX_SLEEP}})


def _repeat() -> dict[str, Any]:
    times = {"type": "integer", "minimum": 0, "maximum": MAX_REPEAT}
    return _object({"repeat": times, "do": _STEPS}, "repeat", "do")


def _step(name: str) -> dict[str, Any]:
    return _object({name: _shape(name)}, name)


def _shape(name: str) -> dict[str, Any]:
    kind = SHAPES[name]
    if kind is True:
        return {"const": True}
    if name == "sleep_ms":
        return {"type": "integer", "minimum": 0, "maximum": MAX_SLEEP}
    return _members(kind) if attrs.has(kind) else _WORDS[kind]


def _members(kind: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = attrs.fields(kind)
    needed = [field.name for field in fields if field.default is attrs.NOTHING]
    return _object({each.name: _member(hints[each.name], each) for each in fields}, *needed)


def _member(hint: Any, field: Any) -> dict[str, Any]:
    if isinstance(hint, types.UnionType):
        kinds = [_WORDS[each]["type"] for each in typing.get_args(hint)]
        return {"type": kinds, **field.metadata}
    return {**_WORDS[hint], **field.metadata}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}
