"""`gateway serve`: the nursery tree, signals, reload and the end.

journal
  hub             deadlines, publishing
    house         one keeper an entry; under it one driver a link
    admin         the operators' socket
    signals
      reload      one at a time; a signal to end overtakes it
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Protocol

import attrs
import trio

from fleetgate.core.hub import open_hub
from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config import Config
from fleetgate.gateway.house import House, HouseObserver, router_of
from fleetgate.gateway.keeper import Wrap, bare
from fleetgate.gateway.registry import open_journal
from fleetgate.protocols.api import Adapter


class ServeObserver(HouseObserver, Protocol):
    """Where the gateway as a whole says what the operator should see."""

    def ready(self) -> None:
        """Every entry was started."""
        ...

    def draining(self) -> None:
        """The first signal to end has come."""
        ...

    def drain_overdue(self, seconds: float) -> None:
        """Not every peer could be told in time; the end comes all the same."""
        ...

    def journal_changed(self, failing: str | None) -> None:
        """Commits begin to fail, or (None) succeed again."""
        ...

    def journal_full(self, full: bool) -> None:
        """The journal has reached its size and nothing of it may go; or it is below it again."""
        ...

    def reloaded(self) -> None:
        """A new config is at work."""
        ...

    def reload_refused(self, error: Exception) -> None:
        """A new config cannot be used; the old one stays at work."""
        ...

    def needs_restart(self, keys: tuple[str, ...]) -> None:
        """These settings changed in the file and count only after a restart."""
        ...


class Admin(Protocol):
    """Serves the operators' socket until it is cancelled."""

    async def __call__(self, gateway: Gateway, *, task_status: trio.TaskStatus[None]) -> None: ...


FIXED = (
    "journal",
    "name",
    "admin",
    "lost_after",
    "open_runs",
    "keep_ended",
    "keep_unacknowledged",
    "journal_size",
)
"""Settings of `[gateway]` that a reload does not change."""


class Gateway:
    """A gateway at work on one config. In `config` the settings that no reload changes are those
    that it started with."""

    def __init__(
        self,
        config: Config,
        house: House,
        load: Callable[[], Config],
        observer: ServeObserver,
    ) -> None:
        self.config = config
        self.house = house
        self.started = trio.current_time()
        self._load = load
        self._observer = observer

    async def reload(self) -> None:
        """Read the config file anew and change over to it. A file that cannot be used, or a
        journal that cannot be written, changes nothing, and says so. Cancelled, some of it is
        done, and `config` is the old one."""
        try:
            config = self._load()
        except Exception as error:  # whatever is wrong with a file, what runs goes on
            self._observer.reload_refused(error)
            return
        changed = tuple(
            key
            for key in FIXED
            if getattr(config.gateway, key) != getattr(self.config.gateway, key)
        )
        try:
            failed = await self.house.apply(config)
        except JournalError as error:
            self._observer.reload_refused(error)
            return
        at_work = {key: getattr(self.config.gateway, key) for key in FIXED}
        self.config = attrs.evolve(config, gateway=attrs.evolve(config.gateway, **at_work))
        if changed:
            self._observer.needs_restart(changed)
        if not failed:
            self._observer.reloaded()

    async def drain(self) -> None:
        """Refuse new runs and have every peer told, for at most `drain_timeout`. Runs go on
        at their workers and are picked up after a restart."""
        self.house.hub.drain()
        self._observer.draining()
        limit = self.config.gateway.drain_timeout
        with trio.move_on_after(limit) as scope:
            await self.house.drain()
        if scope.cancelled_caught:
            self._observer.drain_overdue(limit)


async def serve(
    config: Config,
    adapters: Mapping[str, Adapter],
    load: Callable[[], Config],
    observer: ServeObserver,
    admin: Admin,
    wrap: Wrap = bare,
) -> int:
    """Serve until a signal ends it: SIGTERM or SIGINT once to drain, again to end at once;
    SIGHUP to reload. A signal to end cuts a reload short, and the start. Answers the exit code:
    1 where an entry cannot start at all. Until the journal is open nothing is at work, and a
    signal ends the process as it does any. `wrap` is put around links.

    Raises: `JournalError`.
    """
    clock = Clock()
    settings = config.gateway
    async with (
        open_journal(settings.journal) as journal,
        open_hub(journal, router_of(config, adapters), clock, settings.limits()) as hub,
        trio.open_nursery() as nursery,
    ):
        journal.watch(observer.journal_changed)
        hub.retention.changed = observer.journal_full
        house = House(hub, journal, clock, adapters, observer, nursery, wrap=wrap)
        gateway = Gateway(config, house, load, observer)
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            start = _Start(config, gateway, nursery, admin)
            told = await start.run(signals)
            if start.failed:
                nursery.cancel_scope.cancel()
                return 1
            if start.done:
                observer.ready()
            if told <= {signal.SIGHUP}:
                await _reload_until_told_to_end(gateway, signals, at_once=bool(told))
            await _end(gateway, signals)
            nursery.cancel_scope.cancel()
    return 0


@attrs.define
class _Start:
    """The first entries, and the operators' socket."""

    config: Config
    gateway: Gateway
    nursery: trio.Nursery
    """Where they are at work."""
    admin: Admin
    failed: bool = False
    done: bool = False

    async def run(self, signals: AsyncIterator[int]) -> set[int]:
        """Start them; a signal to end cuts that short. Answers the signals that have come."""
        told: set[int] = set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cut_short, signals, nursery.cancel_scope, told)
            self.failed = bool(await self.gateway.house.apply(self.config))
            if not self.failed:
                await self.nursery.start(self.admin, self.gateway)
                self.done = True
            nursery.cancel_scope.cancel()
        return told


async def _reload_until_told_to_end(
    gateway: Gateway, signals: AsyncIterator[int], *, at_once: bool
) -> None:
    # One reload may wait while another runs: it reads the file as it will be then, so that
    # any number of further signals ask for no more than that.
    ask, asked = trio.open_memory_channel[None](1)
    if at_once:
        ask.send_nowait(None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_reload_when_asked, gateway, asked)
        async for number in signals:
            if number != signal.SIGHUP:
                break
            with suppress(trio.WouldBlock):
                ask.send_nowait(None)
        nursery.cancel_scope.cancel()


async def _reload_when_asked(gateway: Gateway, asked: trio.MemoryReceiveChannel[None]) -> None:
    async for _ in asked:
        await gateway.reload()


async def _end(gateway: Gateway, signals: AsyncIterator[int]) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cut_short, signals, nursery.cancel_scope, set[int]())
        await gateway.drain()
        nursery.cancel_scope.cancel()


async def _cut_short(signals: AsyncIterator[int], scope: trio.CancelScope, told: set[int]) -> None:
    """Cancel on a signal to end; every signal is added to `told`."""
    async for number in signals:
        told.add(number)
        if number != signal.SIGHUP:
            scope.cancel()
            return
