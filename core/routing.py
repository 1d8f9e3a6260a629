"""Which workers take a run, and how it is changed for them. Values and pure functions.

The first route whose `from` and `when` fit takes the run (`match`); its `set` changes what
the run asks for (`route_spec`); its `adapt` turns the input into a kind that the worker
takes (`adapt`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol, TypeVar

import attrs

from fleetgate.core.adaptation import AS_IT_IS, Adaptation, rewrite
from fleetgate.core.commands import Prompt, RunSpec, ToolCall
from fleetgate.core.errors import NoRoute, UnsupportedInput
from fleetgate.core.json import NOTHING
from fleetgate.core.worker import InputKind, kind_of

ANY_LINK: Final = "*"
"""A route's `from` that fits every northbound entry, and the operator."""

OPERATOR: Final = "admin"
"""The link of runs that an operator started; no entry may have this name."""


@attrs.frozen(slots=True)
class Overrides:
    """What a route sets, whatever the run asked for. None leaves it as it is.

    `timeout` is nanoseconds. `labels` are added to the run's own.
    """

    provider: str | None = None
    model: str | None = None
    permission: str | None = None
    timeout: int | None = None
    workspace: tuple[str, ...] | None = None
    approvals: bool | None = None
    interactive: bool | None = None
    labels: Mapping[str, str] = NOTHING


@attrs.frozen(slots=True)
class Route:
    """Runs from `from_` for which all of `when` holds go to the southbound entry `to`.

    A key of `when` is a label of the run, `input` (its kind), or one of `provider`,
    `model`, `permission` and `tool` as the run asks for them, where it has no such label.
    """

    from_: str
    to: str
    when: Mapping[str, tuple[str, ...]] = NOTHING
    set: Overrides = Overrides()
    adapt: Adaptation = AS_IT_IS


def match(routes: Iterable[Route], link: str, spec: RunSpec) -> Route:
    """The first route that fits a run which came by `link`.

    Raises: `NoRoute`.
    """
    facts = _facts(spec)
    for route in routes:
        if route.from_ in (link, ANY_LINK) and _fits(route.when, facts):
            return route
    raise NoRoute(
        f"no route from {link} fits this run ({_told(spec, facts)}); "
        f'add a [[route]] with from = "{link}" whose `when` fits it'
    )


_UNKNOWN: Final = frozenset({"input", "provider", "model", "permission", "tool"})
"""Facts that a question says nothing of, unless it has a label of that name."""


def reached(routes: Iterable[Route], link: str, labels: Mapping[str, str]) -> Iterator[Route]:
    """The routes that a run of `link` with these labels may go by, whatever else it asks for: up
    to the first that takes any."""
    unknown = _UNKNOWN - labels.keys()
    for route in routes:
        known = {key: allowed for key, allowed in route.when.items() if key not in unknown}
        if route.from_ in (link, ANY_LINK) and _fits(known, labels):
            yield route
            if len(known) == len(route.when):
                return


MAX_TOLD: Final = 64
"""Characters of one fact in a refusal: any name, and of a peer's own words no more than this."""


def _told(spec: RunSpec, facts: Mapping[str, str]) -> str:
    """The facts that routes look at, in words. Of labels only the names: values may be secret."""
    named = ("input", "provider", "model", "tool", "permission")
    told = [f"{key} {facts[key][:MAX_TOLD] or 'none'}" for key in named if key in facts]
    return ", ".join([*told, f"labels {', '.join(sorted(spec.labels)) or 'none'}"])


def _facts(spec: RunSpec) -> dict[str, str]:
    facts = {"permission": spec.permission}
    if isinstance(spec.input, Prompt):
        facts |= {"provider": spec.input.provider, "model": spec.input.model}
    elif isinstance(spec.input, ToolCall):
        facts["tool"] = spec.input.name
    return {**facts, **spec.labels, "input": kind_of(spec.input).value}


def _fits(when: Mapping[str, tuple[str, ...]], facts: Mapping[str, str]) -> bool:
    return all(facts.get(key) in allowed for key, allowed in when.items())


_Value = TypeVar("_Value")


def _or(chosen: _Value | None, asked: _Value) -> _Value:
    return asked if chosen is None else chosen


def route_spec(route: Route, spec: RunSpec) -> RunSpec:
    """The spec with what the route sets; everything else as it was."""
    chosen = route.set
    return attrs.evolve(
        _choose_agent(spec, chosen),
        permission=_or(chosen.permission, spec.permission),
        timeout=_or(chosen.timeout, spec.timeout),
        workspace=_or(chosen.workspace, spec.workspace),
        approvals=_or(chosen.approvals, spec.approvals),
        interactive=_or(chosen.interactive, spec.interactive),
        labels={**spec.labels, **chosen.labels} if chosen.labels else spec.labels,
    )


def _choose_agent(spec: RunSpec, chosen: Overrides) -> RunSpec:
    given = spec.input
    if not isinstance(given, Prompt) or (chosen.provider is None and chosen.model is None):
        return spec
    provider, model = _or(chosen.provider, given.provider), _or(chosen.model, given.model)
    return attrs.evolve(spec, input=attrs.evolve(given, provider=provider, model=model))


def adapt(route: Route, spec: RunSpec, accepts: frozenset[InputKind]) -> RunSpec:
    """The spec with its input as the route's `adapt` writes it, if it says anything on it.

    Raises: `UnsupportedInput` where the worker takes nothing of that kind, or the input
    cannot be written so; its text names the setting that would help.
    """
    adapted = _choose_agent(rewrite(route.adapt, spec), route.set)
    if kind_of(adapted.input) not in accepts:
        raise UnsupportedInput(_unsupported(route, spec, adapted, accepts))
    return adapted


_EXAMPLES: Final[Mapping[tuple[InputKind, InputKind], str]] = {
    (InputKind.PROMPT, InputKind.SHELL): '{ argv = ["claude", "-p", "{prompt}"] }',
    (InputKind.PROMPT, InputKind.TOOL): '{ tool = "ask", input = { text = "{prompt}" } }',
    (InputKind.SHELL, InputKind.PROMPT): '{ prompt = "Run this command: {line}" }',
    (InputKind.SHELL, InputKind.TOOL): '{ tool = "bash", input = { command = "{line}" } }',
    (InputKind.TOOL, InputKind.PROMPT): '{ prompt = "Use the tool {name} with {input}" }',
    (InputKind.TOOL, InputKind.SHELL): '{ argv = ["run-tool", "{name}", "{input}"] }',
}


def _unsupported(
    route: Route, spec: RunSpec, adapted: RunSpec, accepts: frozenset[InputKind]
) -> str:
    came, became = kind_of(spec.input), kind_of(adapted.input)
    taken = ", ".join(sorted(each.value for each in accepts)) or "nothing"
    said = f"the workers of {route.to} take no {became.value} input (they take: {taken})"
    for wanted in InputKind:
        if wanted in accepts and (came, wanted) in _EXAMPLES:
            example = f"adapt = {{ {came.value} = {_EXAMPLES[came, wanted]} }}"
            return f"{said}; set for example {example} on the route to {route.to}"
    return f"{said}; send it by another route"


class Router(Protocol):
    """Where runs of a northbound entry go."""

    def route(self, link: str, spec: RunSpec, created: int = 0) -> tuple[str, RunSpec]:
        """The southbound entry that takes this run, and the spec as its workers get it.
        `created`: when the run was accepted, in Unix nanoseconds.

        Raises: `NoRoute`, `UnsupportedInput`.
        """
        ...

    def pools(
        self, link: str, labels: Mapping[str, str] | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        """The southbound entries that runs of `link`, or those of them with these labels, may go
        to, each with the provider names that its routes select it by."""
        ...

    def denies(self, link: str, pool: str) -> bool:
        """Whether approvals that workers of `pool` ask for in runs of `link` are denied at once."""
        ...

    def hears_decisions(self, pool: str) -> bool:
        """Whether workers of `pool` are told how an approval was decided."""
        ...
