"""Routes at work: from a northbound entry to a southbound one, with the run adapted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from fleetgate.core.commands import RunSpec
from fleetgate.core.routing import ANY_LINK, Route, adapt, match, reached, route_spec
from fleetgate.core.worker import InputKind

Prepare: TypeAlias = Callable[[RunSpec, int], RunSpec]
"""A protocol's `Side.prepare`."""

NO_PREPARING: Final[Mapping[str, Prepare]] = MappingProxyType({})


class RouteTable:
    """The hub's router over a config's routes. `inputs` are, for each southbound entry, the
    kinds of input that its protocol's workers take; `prepare` its protocol's last word on a
    spec, where it has one. `denying` are entries whose runs' approvals are denied at once, but
    where they go to one of `deaf`, whose workers could not be told."""

    def __init__(
        self,
        routes: Sequence[Route],
        inputs: Mapping[str, frozenset[InputKind]],
        prepare: Mapping[str, Prepare] = NO_PREPARING,
        denying: frozenset[str] = frozenset(),
        deaf: frozenset[str] = frozenset(),
    ) -> None:
        self._routes = tuple(routes)
        self._inputs = inputs
        self._prepare = prepare
        self._denying = denying
        self._deaf = deaf

    def route(self, link: str, spec: RunSpec, created: int = 0) -> tuple[str, RunSpec]:
        """The southbound entry for a run that came by `link`, and the spec as it gets it.

        Raises: `NoRoute`, `UnsupportedInput`.
        """
        chosen = match(self._routes, link, spec)
        accepts = self._inputs.get(chosen.to, frozenset())
        routed = adapt(chosen, route_spec(chosen, spec), accepts)
        prepare = self._prepare.get(chosen.to)
        return chosen.to, routed if prepare is None else prepare(routed, created)

    def pools(
        self, link: str, labels: Mapping[str, str] | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        """The entries that runs of `link`, or those of them with these labels, may go to, each
        with the provider names that its routes ask for."""
        found: dict[str, tuple[str, ...]] = {}
        routes = self._routes if labels is None else reached(self._routes, link, labels)
        for route in routes:
            if route.from_ in (link, ANY_LINK):
                names = route.when.get("provider", ())
                found[route.to] = tuple(dict.fromkeys((*found.get(route.to, ()), *names)))
        return found

    def denies(self, link: str, pool: str) -> bool:
        """Whether approvals that workers of `pool` ask for in runs of `link` are denied at once."""
        return link in self._denying and pool not in self._deaf

    def hears_decisions(self, pool: str) -> bool:
        """Whether workers of `pool` are told how an approval was decided."""
        return pool not in self._deaf
