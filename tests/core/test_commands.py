"""The union of commands: closed, frozen, imperative; and secrets stay out of a repr."""

import re
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.testing import commands, scripts, shell_commands, specs

KINDS: tuple[type[Any], ...] = get_args(c.Command)
ABOUT_A_RUN: tuple[type[Any], ...] = get_args(c.RunCommand)
PARTS = {c.Prompt, c.Script, c.ShellCommand, c.ToolCall, c.RunSpec, c.Origin, c.Order}
VERBS = (
    "(Acknowledge|Start|Supply|Send|Close|Signal|Cancel|Resolve|Resize"
    "|Read|Limit|Probe|End|Drain|Stop|Describe|List)[A-Z]"
)

SECRET = "5ecret-of-the-run"


def test_the_union_holds_every_command_of_the_module() -> None:
    written = {
        value
        for value in vars(c).values()
        if isinstance(value, type) and attrs.has(value) and value.__module__ == c.__name__
    }
    assert written - PARTS == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_is_named_in_the_imperative(kind: type[Any]) -> None:
    assert re.match(VERBS, kind.__name__)


def test_commands_about_a_run_name_it_first() -> None:
    first = {kind: attrs.fields(kind)[0].name for kind in ABOUT_A_RUN}
    assert set(first.values()) == {"run"}
    assert set(ABOUT_A_RUN) <= set(KINDS)


@given(commands())
def test_a_command_cannot_be_changed(command: c.Command) -> None:
    for member in attrs.fields(type(command)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(command, member.name, None)


HIDDEN = [
    c.RunSpec(c.Prompt("hello"), environment={"TOKEN": SECRET}),
    c.Script(3, b"", data=SECRET.encode()),
    c.SupplyScript(RunId("a/1"), SECRET.encode()),
    c.SendInput(RunId("a/1"), SECRET.encode()),
    c.Order(RunId("a/1"), OrderNumber(1), c.SendInput(RunId("a/1"), SECRET.encode()), 1),
    c.ShellCommand(script=c.Script(3, b"", data=SECRET.encode())),
]


@pytest.mark.parametrize("value", HIDDEN, ids=lambda value: type(value).__name__)
def test_what_a_run_is_fed_is_not_in_a_repr(value: object) -> None:
    assert SECRET not in repr(value)


@given(specs(), st.data())
def test_specs_that_differ_in_a_member_are_different_requests(
    spec: c.RunSpec, data: st.DataObject
) -> None:
    member = data.draw(st.sampled_from(attrs.fields(c.RunSpec))).name
    other = data.draw(specs())
    mixed = attrs.evolve(spec, **{member: getattr(other, member)})
    assert (mixed == spec) == (getattr(mixed, member) == getattr(spec, member))


@given(shell_commands())
def test_a_drawn_command_for_a_host_says_one_thing_to_execute(command: c.ShellCommand) -> None:
    said = [command.line, command.argv, command.script]
    assert sum(part is not None for part in said) == 1


@given(scripts(supplied=True))
def test_a_supplied_script_has_its_size(script: c.Script) -> None:
    assert script.data is not None
    assert len(script.data) == script.size
