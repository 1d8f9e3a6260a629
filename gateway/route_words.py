"""A route in words: who it is for, what becomes of a run, and what is promised for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from fleetgate.core.adaptation import ToCommand, ToPrompt, ToTool
from fleetgate.core.routing import ANY_LINK, OPERATOR, Route
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config import Config
from fleetgate.gateway.promise import LOCAL, Promise, promise
from fleetgate.protocols.api import Adapter


@attrs.frozen(slots=True)
class RouteWords:
    """A route as people say it. `inputs` is what becomes of each kind of input."""

    route: Route
    inputs: Mapping[InputKind, str]
    promise: Promise


def words_of(config: Config, route: Route, adapters: Mapping[str, Adapter]) -> RouteWords:
    """What a route does."""
    protocol, accepts = _target(config, route, adapters)
    inputs = {kind: _becomes(route, kind, accepts) for kind in _possible(route)}
    durable = config.gateway.journal_path is not None
    return RouteWords(route, inputs, promise(protocol, durable))


def _target(
    config: Config, route: Route, adapters: Mapping[str, Adapter]
) -> tuple[str, frozenset[InputKind]]:
    """What the promise of the route's workers is kept under, and the inputs that they take."""
    for pool in config.local:
        if pool.name == route.to:
            return LOCAL, pool.inputs
    (protocol,) = (entry.protocol for entry in config.south if entry.name == route.to)
    return protocol, adapters[protocol].southbound.inputs


_ONLY_OF: Final = {
    "provider": InputKind.PROMPT,
    "model": InputKind.PROMPT,
    "tool": InputKind.TOOL,
}
"""Kinds of input that alone have what a key of `when` asks for, unless a label has its name."""


def _possible(route: Route) -> Sequence[InputKind]:
    wanted = route.when.get("input")
    only = {_ONLY_OF[key] for key in route.when if key in _ONLY_OF}
    return [
        kind for kind in InputKind if (wanted is None or kind.value in wanted) and only <= {kind}
    ]


def _becomes(route: Route, kind: InputKind, accepts: frozenset[InputKind]) -> str:
    match route.adapt.target(kind):
        case None:
            return "as it is" if kind in accepts else "refused (no adapt)"
        case ToCommand(argv=argv, line=line):
            texts = (
                [each.text for each in argv] if argv is not None else [line.text if line else ""]
            )
            shown = " ".join(repr(text) if " " in text or not text else text for text in texts)
            became, words = InputKind.SHELL, f"the command {shown}"
        case ToPrompt(text=text):
            became, words = InputKind.PROMPT, f"the prompt {text.text!r}"
        case ToTool(name=name):
            became, words = InputKind.TOOL, f"a call of the tool {name}"
    return words if became in accepts else f"refused ({words} is not taken there)"


def sentence(route: Route) -> str:
    """Who a route is for and where it leads."""
    who = {ANY_LINK: "any run", OPERATOR: "a run of the operator"}.get(
        route.from_, f"a run from {route.from_}"
    )
    conditions = [f"{key} is {' or '.join(words)}" for key, words in route.when.items()]
    when = f" whose {' and '.join(conditions)}" if conditions else ""
    return f"{who}{when} goes to {route.to}"
