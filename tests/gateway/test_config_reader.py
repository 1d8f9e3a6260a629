"""Tables become values of exactly the types that are wanted, or a list of flaws."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

import attrs
import pytest

from fleetgate.gateway.config_reader import Flaw, Flawed, keys_of, named, nearest, read


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen(slots=True)
class Inner:
    depth: int = 1


@attrs.frozen(slots=True)
class Whole:
    from_: str
    number: int = 0
    ratio: float = 0.5
    on: bool = False
    colour: Colour = Colour.RED
    word: Literal["a", "b"] = "a"
    items: tuple[Inner, ...] = ()
    table: Mapping[str, int] = attrs.field(factory=dict)
    inner: Inner | None = None
    free: Any = None
    checked: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    chosen: str = attrs.field(default="a", validator=attrs.validators.in_(("a", "b")))
    more_: int = attrs.field(default=1, validator=attrs.validators.lt(9))


def test_a_whole_value() -> None:
    value = {
        "from": "x",
        "number": 3,
        "ratio": 2,
        "on": True,
        "colour": "blue",
        "word": "b",
        "items": [{"depth": 2}, {}],
        "table": {"k": 1},
        "inner": {"depth": 4},
        "free": [1, {"x": "y"}],
    }
    assert read(Whole, value, ()) == Whole(
        "x", 3, 2.0, True, Colour.BLUE, "b", (Inner(2), Inner(1)), {"k": 1}, Inner(4), value["free"]
    )


@pytest.mark.limit("gateway/config_reader.MAX_WORDS")
@pytest.mark.parametrize(
    ("member", "flaw"),
    [
        ({"number": "3"}, Flaw(("at", "number"), "expected a whole number, got a string")),
        ({"number": True}, Flaw(("at", "number"), "expected a whole number, got a boolean")),
        (
            {"number": 1.0},
            Flaw(("at", "number"), "expected a whole number, got 1.0"),
        ),
        ({"ratio": "1"}, Flaw(("at", "ratio"), "expected a number, got a string")),
        ({"ratio": False}, Flaw(("at", "ratio"), "expected a number, got a boolean")),
        ({"ratio": float("nan")}, Flaw(("at", "ratio"), "expected a finite number")),
        ({"on": 1}, Flaw(("at", "on"), "expected true or false, got a number")),
        ({"colour": "green"}, Flaw(("at", "colour"), "expected one of red, blue, got green")),
        ({"word": "c"}, Flaw(("at", "word"), "expected one of a, b, got c")),
        ({"word": "Hunter2"}, Flaw(("at", "word"), "expected one of a, b")),
        ({"word": ["a"]}, Flaw(("at", "word"), "expected one of a, b, got an array")),
        (
            {"colour": "bleu"},
            Flaw(("at", "colour"), "expected one of red, blue, got bleu; did you mean blue?"),
        ),
        ({"items": "abc"}, Flaw(("at", "items"), "expected an array, got a string")),
        ({"items": [{}, 3]}, Flaw(("at", "items", 1), "expected a table, got a number")),
        (
            {"items": [{"depth": "x"}]},
            Flaw(("at", "items", 0, "depth"), "expected a whole number, got a string"),
        ),
        ({"table": [1]}, Flaw(("at", "table"), "expected a table, got an array")),
        (
            {"table": {"k": "v"}},
            Flaw(("at", "table", "k"), "expected a whole number, got a string"),
        ),
        ({"inner": []}, Flaw(("at", "inner"), "expected a table, got an array")),
        ({"fron": 1}, Flaw(("at", "fron"), "unknown key; did you mean from?")),
        ({"elsewher": 1}, Flaw(("at", "elsewher"), "unknown key; did you mean elsewhere?")),
        ({"checked": 0}, Flaw(("at", "checked"), "must be >= 1: 0")),
        (
            {"chosen": "x" * 5000},
            Flaw(("at", "chosen"), f"must be in ('a', 'b') (got '{'x' * 172}…"),
        ),
        ({"ratio": 10**400}, Flaw(("at", "ratio"), "expected a finite number")),
    ],
)
def test_one_flaw(member: dict[str, Any], flaw: Flaw) -> None:
    with pytest.raises(Flawed) as caught:
        read(Whole, {"from": "x", **member}, ("at",), also=["elsewhere"])
    assert caught.value.flaws == (flaw,)


def test_all_flaws_at_once() -> None:
    with pytest.raises(Flawed) as caught:
        read(Whole, {"number": "x", "on": 3, "surplus": 1, "checked": 0, "more": 9}, ())
    assert {flaw.path for flaw in caught.value.flaws} == {
        ("from",),
        ("number",),
        ("on",),
        ("surplus",),
        ("checked",),
        ("more",),
    }


@pytest.mark.parametrize("value", [None, 3, "x", [], [1]])
def test_what_is_no_table(value: object) -> None:
    with pytest.raises(Flawed, match="expected a table"):
        read(Whole, value, ())


def test_words() -> None:
    assert nearest("lissen", ["listen", "connect"]) == "did you mean listen?"
    assert nearest("exti", ["exit", "text"]) == "did you mean exit?"
    assert nearest("drop", ["delay", "drop_after"]) == "did you mean drop_after?"
    assert nearest("d", ["delay", "drop_after"]) == "known: delay, drop_after"
    assert nearest("zzz", ["b", "a"]) == "known: a, b"
    assert nearest("zzz", []) == "none is known here"
    assert keys_of(Whole)[0] == "from"
    assert [named(value) for value in (True, 1, "x", {}, [])] == [
        "a boolean",
        "a number",
        "a string",
        "a table",
        "an array",
    ]
