"""All entries of a config at work, and the change from one config to the next."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

import attrs
import trio

from fleetgate.core.errors import Refusal
from fleetgate.core.hub import Hub
from fleetgate.core.journal.api import Done, Journal, JournalError, JournalFailing, PutNote
from fleetgate.core.timers import Clock
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config import Config, ConfigError
from fleetgate.gateway.config_entries import Entry, SecretUnreadable
from fleetgate.gateway.keeper import EntryObserver, Keeper, Surroundings, Wrap, bare
from fleetgate.gateway.latch import Latch
from fleetgate.gateway.registry import load_side
from fleetgate.gateway.router import RouteTable
from fleetgate.gateway.settings import GatewaySettings
from fleetgate.protocols.api import Adapter
from fleetgate.transports.api import LinkError

if TYPE_CHECKING:
    from fleetgate.gateway.local.keeper import LocalKeeper, PoolObserver
    from fleetgate.gateway.local.pool import LocalPool

INSTANCES: Final = "instance"
"""The journal's space for the durable ids of entries."""

MEMORY: Final = "remembered"
"""Its space for what the links of an entry want later ones to know."""

MOST_REMEMBERED: Final = 4096
"""Characters of that; what is longer is not kept."""

STOP_WITHIN: Final = 5.0
"""Seconds that the peers of an entry that is changed or gone may take to be told; then their
links end all the same. Shorter than a `drain_timeout`: its successor waits for the address."""

KEEP_WITHIN: Final = 10.0
"""Seconds until the ids of new entries must be durable; then nothing changes. As long as a
command waits for its commit."""


class HouseObserver(Protocol):
    """Where a house says what the operator should see."""

    def entry(self, entry: Entry) -> EntryObserver:
        """The observer of one entry."""
        ...

    def pool(self, pool: LocalPool) -> PoolObserver:
        """The observer of one local pool."""
        ...

    def failed(self, entry: Entry | LocalPool, error: Exception) -> None:
        """An entry could not start, and is not at work."""
        ...


_CANNOT_START: Final = (OSError, ValueError, LinkError, SecretUnreadable, ConfigError, Refusal)


@attrs.frozen(slots=True)
class _Room:
    keeper: Keeper | LocalKeeper
    scope: trio.CancelScope
    done: Latch


class House:
    """The entries at work in one nursery, which is its owner's. `local` are pools whose
    workers come through no entry, with the inputs that they take. `wrap` is put around links."""

    def __init__(
        self,
        hub: Hub,
        journal: Journal,
        clock: Clock,
        adapters: Mapping[str, Adapter],
        observer: HouseObserver,
        nursery: trio.Nursery,
        local: Mapping[str, frozenset[InputKind]] | None = None,
        wrap: Wrap = bare,
    ) -> None:
        self.hub = hub
        self._journal = journal
        self._clock = clock
        self._adapters = adapters
        self._observer = observer
        self._nursery = nursery
        self._local = local or {}
        self._wrap = wrap
        self._rooms: dict[str, _Room] = {}
        self._instances: dict[str, str] = {}
        self._memory: dict[str, str] = {}

    @property
    def keepers(self) -> tuple[Keeper, ...]:
        """The entries with links that are at work."""
        kept = (room.keeper for room in self._rooms.values())
        return tuple(keeper for keeper in kept if isinstance(keeper, Keeper))

    @property
    def pools(self) -> tuple[LocalPool, ...]:
        """The local pools that are at work."""
        kept = (room.keeper.entry for room in self._rooms.values())
        return tuple(entry for entry in kept if not isinstance(entry, Entry))

    async def apply(self, config: Config) -> list[Exception]:
        """Make the entries at work those of `config`: what is unchanged goes on undisturbed,
        what is gone or changed ends its links, all side by side, what is new starts. Answers
        what could not start. Cancelled, some of it is done.

        Raises: `JournalError`: the ids of new entries are not durable, and nothing was changed.
        """
        wanted: dict[str, Entry | LocalPool] = {entry.name: entry for entry in config.entries}
        wanted |= {pool.name: pool for pool in config.local}
        names = [entry.name for entry in config.entries]
        await self._keep_instances(names)  # first: where that fails, nothing was stopped
        self.hub.router = router_of(config, self._adapters, self._local)
        async with trio.open_nursery() as nursery:
            for name, room in self._rooms.items():
                if wanted.get(name) != room.keeper.entry:
                    nursery.start_soon(self._stop, name, room)
        errors: list[Exception] = []
        around = self._surroundings(config.gateway)
        for name, entry in wanted.items():
            if name not in self._rooms:
                try:
                    await self._start(self._keeper(entry, config.gateway, around))
                except _CANNOT_START as error:
                    self._observer.failed(entry, error)
                    errors.append(error)
        return errors

    async def _stop(self, name: str, room: _Room) -> None:
        with trio.move_on_after(STOP_WITHIN):
            await room.keeper.drain()
        room.scope.cancel()
        await room.done.wait()
        self._rooms.pop(name, None)

    async def _keep_instances(self, names: Iterable[str]) -> None:
        with trio.move_on_after(KEEP_WITHIN) as scope:
            kept = await self._journal.notes(INSTANCES)
            known = {name: id.decode() for name, id in kept.items()}
            new = {name: str(uuid.uuid4()) for name in names if name not in known}
            if new:
                writes = [PutNote(INSTANCES, name, id.encode()) for name, id in new.items()]
                await self._journal.commit(writes)
            self._instances = known | new
            kept = await self._journal.notes(MEMORY)
            self._memory |= {name: text.decode() for name, text in kept.items()}
        if scope.cancelled_caught:
            # What was in line may yet become durable; the next attempt reads what became of it.
            raise JournalFailing(
                f"the journal did not keep the ids of new entries within {KEEP_WITHIN:g} s, so "
                "nothing was changed; see to its disk and try again"
            )

    def _remember(self, name: str, text: str, done: Done) -> None:
        """Keep what a link of the entry wants known to later ones; `done` hears once it is."""
        if self._memory.get(name) == text or len(text) > MOST_REMEMBERED:
            done(None)
            return

        def kept(error: Exception | None) -> None:
            if error is None:
                self._memory[name] = text
            done(error)

        try:
            note = PutNote(MEMORY, name, text.encode())
            self._journal.enqueue([note], kept, may_fail=True)
        except (JournalError, ValueError) as error:
            done(error)

    def _surroundings(self, gateway: GatewaySettings) -> Surroundings:
        return Surroundings(
            self.hub,
            self._clock,
            gateway.name,
            self._instance_of,
            random.random,
            self._memory,
            self._remember,
            self._wrap,
        )

    def _instance_of(self, name: str) -> str:
        return self._instances[name]

    def _keeper(
        self, entry: Entry | LocalPool, gateway: GatewaySettings, around: Surroundings
    ) -> Keeper | LocalKeeper:
        if not isinstance(entry, Entry):
            # Imported where there is a pool: most gateways and fakes have none.
            from fleetgate.gateway.config_local import state_of
            from fleetgate.gateway.local.keeper import LocalKeeper

            observer = self._observer.pool(entry)
            return LocalKeeper(entry, state_of(entry, gateway), self.hub, observer)
        load_side(entry.protocol, entry.facing)
        side = entry.side(self._adapters[entry.protocol])
        return Keeper(entry, side, around, self._observer.entry(entry))

    async def _start(self, keeper: Keeper | LocalKeeper) -> None:
        await self._nursery.start(self._live, keeper)

    async def _live(
        self,
        keeper: Keeper | LocalKeeper,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        room = _Room(keeper, trio.CancelScope(), Latch())
        self._rooms[keeper.entry.name] = room
        try:
            with room.scope:
                await keeper.run(task_status)
        finally:
            room.done.set()
            if self._rooms.get(keeper.entry.name) is room:
                del self._rooms[keeper.entry.name]

    async def wait_gone(self, name: str) -> None:
        """Wait until the entry is not at work any more; one that never was is not."""
        room = self._rooms.get(name)
        if room is not None:
            await room.done.wait()

    async def drain(self) -> None:
        """Have all peers told that the gateway stops, side by side, and end their links."""
        async with trio.open_nursery() as nursery:
            for room in tuple(self._rooms.values()):
                nursery.start_soon(room.keeper.drain)


def router_of(
    config: Config,
    adapters: Mapping[str, Adapter],
    local: Mapping[str, frozenset[InputKind]] | None = None,
) -> RouteTable:
    """The router that a config describes."""
    south = {entry.name: adapters[entry.protocol].southbound for entry in config.south}
    inputs = {name: side.inputs for name, side in south.items()} | dict(local or {})
    inputs |= {pool.name: pool.inputs for pool in config.local}
    prepare = {n: side.prepare for n, side in south.items() if side.prepare is not None}
    deaf = {name for name, side in south.items() if not side.decisions}
    denying = {entry.name for entry in config.entries if _denies(entry, adapters)}
    return RouteTable(config.routes, inputs, prepare, frozenset(denying), frozenset(deaf))


def _denies(entry: Entry, adapters: Mapping[str, Adapter]) -> bool:
    denies = entry.side(adapters[entry.protocol]).denies
    return denies is not None and denies(entry.settings)
