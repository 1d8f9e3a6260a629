"""The strict converter: nothing is coerced, everything wrong is named."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs
import pytest

from fleetgate.core.json import NOTHING, Json
from fleetgate.protocols.json_text import Malformed, load
from fleetgate.protocols.strict import U16, U64, camel, kind_of, make_converter


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Inner:
    number: U16


@attrs.frozen
class Outer:
    a_name: str
    flag: bool
    count: U64
    plain: int
    ratio: float
    inner: Inner
    colour: Colour
    names: tuple[str, ...]
    inners: tuple[Inner, ...]
    words: Mapping[str, str]
    anything: Json
    free: Mapping[str, Json] = NOTHING
    maybe: str | None = None
    sure: bool | None = None


GOOD: dict[str, Any] = {
    "aName": "x",
    "flag": True,
    "count": 2**64 - 1,
    "plain": -5,
    "ratio": 2,
    "inner": {"number": 65535},
    "colour": "red",
    "names": ["a"],
    "inners": [{"number": 0}],
    "words": {"a": "b"},
    "anything": None,
    "free": {"a": [1, None]},
    "maybe": None,
    "sure": False,
    "unknown": 1,
}


converter = make_converter(lambda kind, name: camel(name) if kind is Outer else name)


def structure(value: Any) -> Outer:
    return converter.structure(value, Outer)


def test_what_fits_is_taken_and_unknown_keys_are_passed_over() -> None:
    read = structure(GOOD)
    assert read == Outer(
        "x",
        True,
        2**64 - 1,
        -5,
        2.0,
        Inner(65535),
        Colour.RED,
        ("a",),
        (Inner(0),),
        {"a": "b"},
        None,
        {"a": [1, None]},
        None,
        False,
    )
    assert type(read.ratio) is float


@pytest.mark.parametrize("key", ["free", "maybe", "sure"])
def test_a_member_with_a_default_may_be_missing(key: str) -> None:
    structure({name: value for name, value in GOOD.items() if name != key})


@pytest.mark.parametrize("key", [k for k in GOOD if k not in {"free", "maybe", "sure", "unknown"}])
def test_any_other_member_may_not(key: str) -> None:
    with pytest.raises(Malformed, match=f"the key {key} is missing"):
        structure({name: value for name, value in GOOD.items() if name != key})


WRONG: list[tuple[str, Any, str]] = [
    ("aName", 1, "a string, an integer"),
    ("aName", None, "a string, null"),
    ("flag", 1, "true or false, an integer"),
    ("flag", "true", "true or false, a string"),
    ("count", True, "an integer, true"),
    ("count", 1.0, "an integer, a number with"),
    ("count", -1, "from 0 to 18446744073709551615"),
    ("count", 2**64, "from 0 to"),
    ("count", "1", "an integer, a string"),
    ("plain", False, "an integer, false"),
    ("ratio", True, "a number, true"),
    ("ratio", "1", "a number, a string"),
    ("inner", [], "an object, an array"),
    ("inner", {"number": 65536}, "number: expected an integer from 0 to 65535"),
    ("inner", {}, "the key number is missing"),
    ("colour", "green", "one of red, blue"),
    ("colour", ["red"], "one of red, blue"),
    ("names", "abc", "an array, a string"),
    ("names", {"a": 1}, "an array, an object"),
    ("names", [1], "a string, an integer"),
    ("inners", [{"number": None}], "number: expected an integer, null"),
    ("words", [["a", "b"]], "an object, an array"),
    ("words", {"a": 1}, "a string, an integer"),
    ("free", None, "an object, null"),
    ("maybe", 5, "a string, an integer"),
    ("sure", "yes", "true or false, a string"),
]


@pytest.mark.parametrize(("key", "value", "text"), WRONG)
def test_nothing_is_coerced(key: str, value: Any, text: str) -> None:
    with pytest.raises(Malformed, match=text) as failure:
        structure({**GOOD, key: value})
    assert str(failure.value).startswith(f"{key}: ")


@pytest.mark.parametrize("value", [[], None, 5, "x", True])
def test_a_class_wants_an_object(value: Any) -> None:
    with pytest.raises(Malformed, match="expected an object"):
        structure(value)


def test_a_known_key_that_came_twice_is_refused_an_unknown_one_is_not() -> None:
    class_of = make_converter()
    assert class_of.structure(load(b'{"number":1,"x":1,"x":2}'), Inner) == Inner(1)
    with pytest.raises(Malformed, match="number came more than once"):
        class_of.structure(load(b'{"number":1,"number":1}'), Inner)


@pytest.mark.parametrize("kind", [tuple[int, str], Mapping[int, str]])
def test_types_that_json_has_not_are_refused_when_the_codec_is_made(kind: Any) -> None:
    with pytest.raises(TypeError):
        make_converter().get_structure_hook(kind)


def test_camel_case() -> None:
    assert [camel(name) for name in ("a", "a_b", "run_id", "extra_thinking_x")] == [
        "a",
        "aB",
        "runId",
        "extraThinkingX",
    ]


def test_every_kind_of_value_has_a_name() -> None:
    assert [kind_of(v) for v in (None, True, False, 1, 1.5, "x", {}, [])] == [
        "null",
        "true",
        "false",
        "an integer",
        "a number with a fraction or an exponent",
        "a string",
        "an object",
        "an array",
    ]
