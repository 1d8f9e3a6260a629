"""Values by type, and what a value holds."""

from __future__ import annotations

import typing

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.gateway.fidelity.values import EXTREME, TYPICAL, text_in, values_of


def fields() -> list[tuple[str, object]]:
    kinds = [*typing.get_args(e.Event), c.RunSpec, *typing.get_args(c.Input)]
    return [
        (f"{kind.__name__}.{name}", hint)
        for kind in kinds
        for name, hint in typing.get_type_hints(kind).items()
        if not attrs.has(hint) and name not in ("input", "script", "outcome")
    ]


@pytest.mark.parametrize(("name", "hint"), fields(), ids=lambda each: str(each)[:30])
def test_every_member_of_the_core_has_values(name: str, hint: object) -> None:
    values = values_of(hint, "token", 7_000_001)
    assert values
    assert len({repr(each.value) for each in values}) == len(values)
    recognised = [
        "token" in text_in(each.value) or "7000001" in text_in(each.value)
        for each in values
        if each.label in (TYPICAL, EXTREME)
    ]
    assert not recognised or recognised[0] or isinstance(values[0].value, bool)


def test_a_type_that_nobody_thought_of_is_an_error() -> None:
    with pytest.raises(TypeError, match="no values are known"):
        values_of(complex, "t", 1)


def test_all_that_a_value_holds_is_found() -> None:
    spec = c.RunSpec(
        c.ShellCommand(argv=("say", "one"), stdin=b"two\xff"),
        environment={"KEY": "three"},
        timeout=4444,
        metadata={"five": [{"six": None}]},
    )
    text = text_in(spec)
    for word in ("say", "one", "two", "KEY", "three", "4444", "five", "six"):
        assert word in text.replace("\0", " ").replace("\ufffd", " ").split()
