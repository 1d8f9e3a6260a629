"""The controllers of the kill loop: sixteen hubs of their own in this process, on real sockets.
They outlive the gateway, and keep book."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio
from chaos_hosts import missed
from chaos_site import Site

from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.worker import InputKind
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fidelity.bridge import LOCAL
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.gateway.testing import SeenEntry, SeenHouse, SeenLink


@attrs.define
class TimedEntry(SeenEntry):
    """Remembers as well when its links came and ended (Unix nanoseconds)."""

    ups: list[int] = attrs.field(factory=list[int])
    downs: list[int] = attrs.field(factory=list[int])

    def up(self, peer: str) -> SeenLink:
        """A link is up."""
        self.ups.append(time.time_ns())
        return super().up(peer)

    def down(self, peer: str, reason: str) -> None:
        """A link has ended."""
        super().down(peer, reason)
        self.downs.append(time.time_ns())

    def missed(self, now: int) -> bool:
        """See `chaos_hosts.missed`."""
        return missed(self.ups, self.downs, now)


@attrs.define
class TimedHouse(SeenHouse):
    """Makes such entries."""

    def entry(self, entry: Entry) -> SeenEntry:
        """The observer of one entry."""
        return self.entries.setdefault(entry.name, TimedEntry())


def timed(member: Member) -> TimedEntry:
    """The one entry of a peer."""
    (entry,) = member.seen.entries.values()
    assert isinstance(entry, TimedEntry)
    return entry


@attrs.frozen
class Peers:
    """Controllers by pair."""

    controllers: Mapping[str, Member]

    def faults(self) -> list[str]:
        """What our own code raised in them."""
        return [
            f"a fault at the controller of {name}: {fault!r}"
            for name, member in self.controllers.items()
            for fault in member.faults()
        ]


@asynccontextmanager
async def open_peers(site: Site, nursery: trio.Nursery) -> AsyncGenerator[Peers]:
    """All of them, at work."""
    controllers = {name: await _up(nursery, each) for name, each in site.controllers().items()}
    yield Peers(controllers)
    for member in controllers.values():
        await member.stop()


async def _up(nursery: trio.Nursery, config: Config) -> Member:
    journal = staying(await nursery.start(_keep_journal))
    kinds = {LOCAL: frozenset(InputKind)}
    member = Member(config, journal, kinds, seen=TimedHouse(), clock=Clock)
    await nursery.start(member.run)
    return member


async def _keep_journal(task_status: Any) -> None:
    async with open_memory_journal() as journal:
        task_status.started(journal)
        await trio.sleep_forever()
