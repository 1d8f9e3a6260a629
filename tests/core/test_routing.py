"""Which route takes a run, and what it makes of it."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.adaptation import Adaptation, ToCommand, ToPrompt
from fleetgate.core.commands import Prompt, RunSpec, ShellCommand, ToolCall
from fleetgate.core.errors import NoRoute, UnsupportedInput
from fleetgate.core.routing import MAX_TOLD, Overrides, Route, adapt, match, reached, route_spec
from fleetgate.core.templates import parse
from fleetgate.core.worker import InputKind

PROMPT = RunSpec(Prompt("hi", provider="claude"), labels={"adapter": "claude"})


def test_the_first_route_that_fits_takes_the_run() -> None:
    routes = (
        Route("edge", "one", {"adapter": ("shell",)}),
        Route("gui", "two"),
        Route("edge", "three", {"adapter": ("codex", "claude")}),
        Route("*", "four"),
    )
    assert match(routes, "edge", PROMPT).to == "three"
    assert match(routes, "gui", PROMPT).to == "two"
    assert match(routes, "admin", PROMPT).to == "four"


@pytest.mark.parametrize(
    ("when", "spec", "fits"),
    [
        ({"input": ("prompt",)}, PROMPT, True),
        ({"input": ("shell", "tool")}, PROMPT, False),
        ({"input": ("shell",)}, RunSpec(ShellCommand(line="ls"), labels={"input": "x"}), True),
        ({"provider": ("claude",)}, PROMPT, True),
        ({"provider": ("mine",)}, attrs.evolve(PROMPT, labels={"provider": "mine"}), True),
        ({"model": ("",)}, PROMPT, True),
        ({"tool": ("bash",)}, RunSpec(ToolCall("bash")), True),
        ({"tool": ("bash",)}, PROMPT, False),
        ({"permission": ("edit",)}, attrs.evolve(PROMPT, permission="edit"), True),
        ({"adapter": ("claude",), "zone": ("eu",)}, PROMPT, False),
    ],
)
def test_when(when: dict[str, tuple[str, ...]], spec: RunSpec, fits: bool) -> None:
    routes = (Route("edge", "one", when), Route("edge", "rest"))
    assert match(routes, "edge", spec).to == ("one" if fits else "rest")


@pytest.mark.parametrize(
    ("labels", "to"),
    [
        ({"adapter": "shell"}, ["one"]),
        ({"adapter": "codex"}, ["two", "three"]),
        ({"adapter": "codex", "model": "big"}, ["two"]),
        ({}, ["two", "three"]),
        ({"model": "small"}, ["three"]),
    ],
)
def test_what_is_known_of_a_run_says_by_which_routes_it_may_go(
    labels: dict[str, str], to: list[str]
) -> None:
    routes = (
        Route("edge", "one", {"adapter": ("shell",)}),
        Route("gui", "elsewhere"),
        Route("edge", "two", {"model": ("big",)}),
        Route("*", "three"),
        Route("edge", "never"),
    )
    assert [route.to for route in reached(routes, "edge", labels)] == to


def test_no_route_names_the_entry_the_facts_and_the_labels_but_not_their_values() -> None:
    with pytest.raises(NoRoute) as caught:
        match((Route("gui", "one"),), "edge", PROMPT)
    assert str(caught.value) == (
        "no route from edge fits this run (input prompt, provider claude, model none, "
        "permission none, labels adapter); "
        'add a [[route]] with from = "edge" whose `when` fits it'
    )


@pytest.mark.limit("core/routing.MAX_TOLD")
def test_no_route_repeats_little_of_what_a_peer_says() -> None:
    with pytest.raises(NoRoute) as caught:
        match((), "edge", RunSpec(Prompt("hi", model="m" * 1000)))
    assert str(caught.value).count("m" * MAX_TOLD) == 1
    assert "m" * (MAX_TOLD + 1) not in str(caught.value)


def test_set_changes_what_it_names_and_nothing_else() -> None:
    chosen = Overrides("codex", "m", "plan", 5, ("/srv",), True, False, {"zone": "eu"})
    spec = attrs.evolve(PROMPT, interactive=True, environment={"A": "b"}, native={"x": 1})
    assert route_spec(Route("*", "to", set=chosen), spec) == RunSpec(
        Prompt("hi", provider="codex", model="m"),
        workspace=("/srv",),
        environment={"A": "b"},
        timeout=5,
        permission="plan",
        approvals=True,
        interactive=False,
        labels={"adapter": "claude", "zone": "eu"},
        native={"x": 1},
    )


specs = st.builds(
    RunSpec,
    input=st.builds(Prompt, st.text(), provider=st.text(), model=st.text())
    | st.builds(ShellCommand, line=st.text())
    | st.builds(ToolCall, st.text()),
    timeout=st.none() | st.integers(1),
    permission=st.sampled_from(["", "edit", "plan"]),
    approvals=st.booleans(),
    labels=st.dictionaries(st.text(), st.text()),
)


@given(specs)
def test_a_route_that_sets_nothing_changes_nothing(spec: RunSpec) -> None:
    assert route_spec(Route("*", "to"), spec) == spec
    assert adapt(Route("*", "to"), spec, frozenset(InputKind)) == spec


def test_provider_and_model_also_hold_for_a_prompt_made_of_a_command() -> None:
    route = Route(
        "*",
        "to",
        set=Overrides(provider="claude", model="m"),
        adapt=Adaptation(shell=ToPrompt(parse("Run {line}"))),
    )
    spec = route_spec(route, RunSpec(ShellCommand(line="ls")))
    done = adapt(route, spec, frozenset({InputKind.PROMPT}))
    assert done.input == Prompt("Run ls", provider="claude", model="m")


def test_an_adaptation_applies_even_where_the_worker_takes_the_kind() -> None:
    route = Route("*", "to", adapt=Adaptation(prompt=ToPrompt(parse("Please: {prompt}"))))
    done = adapt(route, PROMPT, frozenset(InputKind))
    assert done.input == Prompt("Please: hi", provider="claude")


@pytest.mark.parametrize(
    ("spec", "accepts", "message"),
    [
        (
            PROMPT,
            {InputKind.SHELL},
            "the workers of hosts take no prompt input (they take: shell); set for example "
            'adapt = { prompt = { argv = ["claude", "-p", "{prompt}"] } } '
            "on the route to hosts",
        ),
        (
            RunSpec(ShellCommand(line="ls")),
            {InputKind.PROMPT},
            "the workers of hosts take no shell input (they take: prompt); set for example "
            'adapt = { shell = { prompt = "Run this command: {line}" } } on the route to hosts',
        ),
        (
            RunSpec(ToolCall("t")),
            set(),
            "the workers of hosts take no tool input (they take: nothing); "
            "send it by another route",
        ),
    ],
)
def test_unsupported_input_names_the_setting_that_would_help(
    spec: RunSpec, accepts: set[InputKind], message: str
) -> None:
    with pytest.raises(UnsupportedInput) as caught:
        adapt(Route("edge", "hosts"), spec, frozenset(accepts))
    assert str(caught.value) == message


def test_an_adaptation_to_a_kind_that_is_not_taken_is_refused_too() -> None:
    route = Route("*", "hosts", adapt=Adaptation(prompt=ToCommand(argv=(parse("x"),))))
    with pytest.raises(UnsupportedInput, match="take no shell input"):
        adapt(route, PROMPT, frozenset({InputKind.TOOL}))
