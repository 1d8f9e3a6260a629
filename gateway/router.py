"""Routes at work: from a northbound entry to a southbound one, with the run adapted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleetgate.core.commands import RunSpec
from fleetgate.core.routing import ANY_LINK, Route, adapt, match, route_spec
from fleetgate.core.worker import InputKind


class RouteTable:
    """The hub's router over a config's routes. `inputs` are, for each southbound entry, the
    kinds of input that its protocol's workers take."""

    def __init__(self, routes: Sequence[Route], inputs: Mapping[str, frozenset[InputKind]]) -> None:
        self._routes = tuple(routes)
        self._inputs = inputs

    def route(self, link: str, spec: RunSpec) -> tuple[str, RunSpec]:
        """The southbound entry for a run that came by `link`, and the spec as it gets it.

        Raises: `NoRoute`, `UnsupportedInput`.
        """
        chosen = match(self._routes, link, spec)
        accepts = self._inputs.get(chosen.to, frozenset())
        return chosen.to, adapt(chosen, route_spec(chosen, spec), accepts)

    def pools(self, link: str) -> Mapping[str, tuple[str, ...]]:
        """The entries that runs of `link` may go to, each with the provider names that its
        routes ask for."""
        found: dict[str, tuple[str, ...]] = {}
        for route in self._routes:
            if route.from_ in (link, ANY_LINK):
                names = route.when.get("provider", ())
                found[route.to] = tuple(dict.fromkeys((*found.get(route.to, ()), *names)))
        return found
