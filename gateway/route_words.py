"""A route in words: who it is for, what becomes of a run, and what is promised for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from fleetgate.core.adaptation import ToCommand, ToPrompt, ToTool
from fleetgate.core.routing import ANY_LINK, OPERATOR, Route
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fidelity.kept import kept
from fleetgate.gateway.fidelity.losses import Losses, losses
from fleetgate.gateway.promise import LOCAL, Promise, Showing, promise, showing
from fleetgate.gateway.promise_settings import Setting, named_in
from fleetgate.protocols.api import Adapter


@attrs.frozen(slots=True)
class Controllers:
    """Those whose runs take a route: of the entry `name`, or the operator. `losses` is what was
    measured between their protocol and the workers' (None: it was not)."""

    name: str
    protocol: str
    showing: Showing
    settings: tuple[Setting, ...]
    losses: Losses | None


@attrs.frozen(slots=True)
class RouteWords:
    """A route as people say it. `inputs` is what becomes of each kind of input; `settings` are
    those that the promise names, as they are set."""

    route: Route
    inputs: Mapping[InputKind, str]
    protocol: str
    promise: Promise
    settings: tuple[Setting, ...]
    controllers: tuple[Controllers, ...]


def words_of(config: Config, route: Route, adapters: Mapping[str, Adapter]) -> RouteWords:
    """What a route does."""
    protocol, accepts, settings = _target(config, route, adapters)
    inputs = {kind: _becomes(route, kind, accepts) for kind in _possible(route)}
    made = promise(protocol, config.gateway.journal_path is not None)
    holders = {f"south.{route.to}": settings, "gateway": config.gateway}
    named = named_in(attrs.astuple(made), holders)
    controllers = tuple(_controllers(config, route, protocol, adapters))
    return RouteWords(route, inputs, protocol, made, named, controllers)


def _target(
    config: Config, route: Route, adapters: Mapping[str, Adapter]
) -> tuple[str, frozenset[InputKind], object]:
    """What the promise of the route's workers is kept under, the inputs that they take, and their
    settings."""
    for pool in config.local:
        if pool.name == route.to:
            return LOCAL, pool.inputs, None
    (entry,) = (entry for entry in config.south if entry.name == route.to)
    return entry.protocol, adapters[entry.protocol].southbound.inputs, entry.settings


def _controllers(
    config: Config, route: Route, south: str, adapters: Mapping[str, Adapter]
) -> Iterator[Controllers]:
    """Who may ask by this route. Nothing was measured for runs of the operator, which no protocol
    carries, and for those that come in where workers do."""
    durable = config.gateway.journal_path is not None
    for entry in (*config.north, *(each for each in config.south if _asks(each, adapters))):
        if route.from_ not in (ANY_LINK, entry.name):
            continue
        said = showing(entry.protocol, durable)
        holders = {f"{entry.facing}.{entry.name}": entry.settings}
        named = named_in(attrs.astuple(said), holders)
        measured = entry.facing == "north"
        lost = losses(kept(), entry.protocol, south) if measured else None
        yield Controllers(entry.name, entry.protocol, said, named, lost)
    if route.from_ in (ANY_LINK, OPERATOR):
        yield Controllers(OPERATOR, OPERATOR, showing(OPERATOR, durable), (), None)


def _asks(entry: Entry, adapters: Mapping[str, Adapter]) -> bool:
    asks = entry.side(adapters[entry.protocol]).asks
    return asks is not None and asks(entry.settings)


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
