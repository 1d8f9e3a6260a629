"""One hub with its entries, on a journal that outlives it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import attrs
import trio

from fleetgate.core.hub import Hub, open_hub
from fleetgate.core.hub_testing import TrioClock
from fleetgate.core.journal.api import Journal
from fleetgate.core.timers import Clock
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config import Config
from fleetgate.gateway.house import House, router_of
from fleetgate.gateway.keeper import Wrap, bare
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenHouse

Open: TypeAlias = Callable[[], AbstractAsyncContextManager[Journal]]
"""Opens the member's journal each time that it comes up."""


def staying(journal: Journal) -> Open:
    """A journal that stays open while its member is down."""

    @asynccontextmanager
    async def open() -> AsyncGenerator[Journal, None]:
        yield journal

    return open


@attrs.define
class Member:
    """One of the three. `inputs` are its local pools; `wrap` is put around its links, and `clock`
    makes the one that it goes by each time that it comes up."""

    config: Config
    open: Open
    inputs: Mapping[str, frozenset[InputKind]] = attrs.field(
        factory=dict[str, frozenset[InputKind]]
    )
    seen: SeenHouse = attrs.field(factory=SeenHouse)
    wrap: Wrap = bare
    clock: Callable[[], Clock] = TrioClock
    _journal: Journal | None = None
    _hub: Hub | None = None
    _house: House | None = None
    _scope: trio.CancelScope | None = None
    _down: trio.Event = attrs.field(factory=trio.Event)

    @property
    def hub(self) -> Hub:
        """Its hub, while it is up."""
        assert self._hub is not None
        return self._hub

    @property
    def journal(self) -> Journal:
        """Its journal, while it is up."""
        assert self._journal is not None
        return self._journal

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Be up until `stop`. Cancelled, it is gone as a killed process is."""
        self._down = trio.Event()
        known, clock = adapters(()), self.clock()
        try:
            with trio.CancelScope() as self._scope:
                async with (
                    self.open() as journal,
                    open_hub(journal, router_of(self.config, known, self.inputs), clock) as hub,
                    trio.open_nursery() as nursery,
                ):
                    self._journal, self._hub = journal, hub
                    self._house = House(
                        hub, journal, clock, known, self.seen, nursery, self.inputs, self.wrap
                    )
                    await self.apply(self.config)
                    task_status.started()
                    await trio.sleep_forever()
        finally:
            self._down.set()

    async def apply(self, config: Config) -> None:
        """Go by a config from here on: entries that are new start, others go on."""
        assert self._house is not None
        errors = await self._house.apply(config)
        if errors:
            raise errors[0]

    async def stop(self) -> None:
        """Be gone, as a killed process is."""
        assert self._scope is not None
        self._scope.cancel()
        await self._down.wait()

    async def drain(self) -> None:
        """Stop as the first SIGTERM does it: refuse runs, tell every peer, end the links."""
        assert self._house is not None
        self.hub.drain()
        await self._house.drain()

    def cut(self, entry: str) -> None:
        """Cut the links of an entry without a word."""
        assert self._house is not None
        for keeper in self._house.keepers:
            if keeper.entry.name == entry:
                for driver in keeper.drivers:
                    driver.drop()

    def faults(self) -> list[BaseException]:
        """What went wrong in it."""
        return [
            fault
            for entry in self.seen.entries.values()
            for link in entry.links
            for fault in link.faults
        ]
