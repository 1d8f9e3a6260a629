"""A small gateway: hub, journal and entries, made in the program and not from a file.

A fake peer is one. What it plays towards its peer is an entry like any other; its other
side is a front end for the tests (controllers) or a worker that runs here (workers).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import attrs
import trio

from fleetgate.core.commands import RunSpec
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.hub import Hub, open_hub
from fleetgate.core.journal.api import Journal
from fleetgate.core.routing import OPERATOR, Route, Router
from fleetgate.core.timers import Clock as AnyClock
from fleetgate.core.worker import InputKind, WorkerStatus, kind_of
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.house import House, HouseObserver, router_of
from fleetgate.gateway.keeper import Wrap, bare
from fleetgate.gateway.registry import builtin_adapter, open_journal
from fleetgate.gateway.settings import GatewaySettings
from fleetgate.protocols.api import Adapter, Connection, Side
from fleetgate.protocols.carriage import Carriage

LOCAL: Final = "local"
"""The pool of workers that run in this process."""

LONGEST_REDIAL: Final = 2.0
"""Seconds between two dials, at most. There is no fleet to spread here, and whoever starts a
fake's peer anew wants the fake back and not, as protocols have it, up to half a minute later."""


Told: TypeAlias = Callable[[Journal], Journal]
"""What is put around the journal of a small gateway, so that somebody hears what is written."""


def bare_journal(journal: Journal) -> Journal:
    """Nothing is."""
    return journal


@attrs.frozen(slots=True)
class Small:
    """A small gateway at work."""

    hub: Hub
    house: House
    clock: AnyClock
    nursery: trio.Nursery

    @property
    def drivers(self) -> Sequence[Driver]:
        """The links that are up."""
        return [driver for keeper in self.house.keepers for driver in keeper.drivers]


@asynccontextmanager
async def open_small(
    entry: Entry,
    name: str,
    journal: str,
    observer: HouseObserver,
    inputs: frozenset[InputKind] = frozenset(),
    watch: Callable[[WorkerStatus], None] = lambda _: None,
    wrap: Wrap = bare,
    *,
    connect: Callable[[Any], Connection] | None = None,
    told: Told = bare_journal,
    advice: str = "",
) -> AsyncGenerator[Small, None]:
    """A small gateway with one entry: a worker's entry is routed to from the operator, a
    controller's entry leads to the local pool, whose workers take `inputs`. `watch` is told of
    workers that come, get ready or leave. `connect` makes the entry's connections, in place of the
    protocol's own. `told` is put around its journal. `advice` is what a controller may do, beside
    sending what the fake takes, whose run brings something else. Its links end with the block.

    Raises: `JournalError`, `ListenFailed`, `AddressError`.
    """
    local: Mapping[str, frozenset[InputKind]] = {LOCAL: inputs}
    known, clock = {entry.protocol: _eager(builtin_adapter(entry.protocol))}, Clock()
    if connect is not None:
        known[entry.protocol] = _connecting(known[entry.protocol], entry.facing, connect)
    config = config_of(entry, name, journal)
    async with (
        open_journal(journal) as kept,
        open_hub(told(kept), router_of(config, known, local), clock) as hub,
        trio.open_nursery() as nursery,
    ):
        hub.watch_workers(watch)
        house = House(hub, kept, clock, known, observer, nursery, local, wrap)
        errors = await house.apply(config)
        if errors:
            raise errors[0]
        if entry.facing == "north":
            hub.router = _Plain(hub.router, name, inputs, advice)
        yield Small(hub, house, clock, nursery)
        hub.drain()
        with trio.move_on_after(2):
            await house.drain()
        nursery.cancel_scope.cancel()


class _Plain:
    """A worker's router. Whoever runs a fake has written no route, and is told of none."""

    def __init__(
        self, router: Router, name: str, inputs: frozenset[InputKind], advice: str
    ) -> None:
        self._router = router
        self._name = name
        self._inputs = inputs
        self._advice = advice
        self.pools = router.pools
        self.denies = router.denies
        self.hears_decisions = router.hears_decisions

    def route(self, link: str, spec: RunSpec, created: int = 0) -> tuple[str, RunSpec]:
        """As of `Router`."""
        came = kind_of(spec.input)
        if came not in self._inputs:
            taken = " or ".join(sorted(kind.value for kind in self._inputs)) or "no"
            text = f"expected {taken} input, which is what this {self._name} takes"
            raise UnsupportedInput(
                f"{text}; {came.value} input came; send it the former{self._advice}"
            )
        return self._router.route(link, spec, created)


def _connecting(adapter: Adapter, facing: str, connect: Callable[[Any], Connection]) -> Adapter:
    if facing == "south":
        return attrs.evolve(adapter, southbound=attrs.evolve(adapter.southbound, open=connect))
    return attrs.evolve(adapter, northbound=attrs.evolve(adapter.northbound, open=connect))


def _eager(adapter: Adapter) -> Adapter:
    """The protocol, dialled again soon."""
    north, south = _eager_side(adapter.northbound), _eager_side(adapter.southbound)
    return attrs.evolve(adapter, northbound=north, southbound=south)


def _eager_side(side: Side) -> Side:
    def carriage(settings: Any) -> Carriage:
        carried = side.carriage(settings)
        redial = attrs.evolve(carried.redial, cap=min(carried.redial.cap, LONGEST_REDIAL))
        return attrs.evolve(carried, redial=redial)

    return attrs.evolve(side, carriage=carriage)


def config_of(entry: Entry, name: str, journal: str) -> Config:
    """The config of a small gateway."""
    settings = GatewaySettings(journal, name=name)
    if entry.facing == "south":
        # Control clients of some protocols come in where its workers do, by the entry's own name.
        routes = (Route(OPERATOR, entry.name), Route(entry.name, entry.name))
        return Config("", settings, (entry,), (), routes)
    return Config("", settings, (), (entry,), (Route(entry.name, LOCAL),))
