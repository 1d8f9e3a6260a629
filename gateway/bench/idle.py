"""Workers that are there and do nothing, each on a link of its own: both ends.

`python -m fleetgate.gateway.bench.idle KIND PROTOCOL COUNT ADDRESS JOURNAL` is what they come to: a
gateway, or a relay that has their links and nothing else. It says `ready`, `warm` once the first of
them are there, and the bytes that the others have added once all are.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

import attrs
import trio

from fleetgate.core.answers import WorkerList
from fleetgate.core.commands import ListWorkers
from fleetgate.core.hub import open_hub
from fleetgate.core.hub_testing import OneWay, TrioClock
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.gateway.bench.pairs.places import carriage_of
from fleetgate.gateway.bench.pairs.subject import have_link
from fleetgate.gateway.bench.process import rss
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.fidelity.bridge import LISTENING_WORKERS, Spoken, make_entry
from fleetgate.gateway.fidelity.member import Member
from fleetgate.gateway.heap import settle
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.settings import GatewaySettings
from fleetgate.gateway.testing import SeenLink
from fleetgate.protocols.api import Opening
from fleetgate.transports.api import Link
from fleetgate.transports.open import open_dialer, open_listener

WARM: Final = 10
"""Workers that come first: what the first of them brings about is not of each."""

SIDE_BY_SIDE: Final = 50
"""Links that are dialled at a time: fewer than handshakes that a listener has under way."""

REST: Final = 0.5
"""Seconds that what came last has to say all it says, before memory is looked at."""


# --- what they come to


def entries_of(protocol: str, address: str, count: int) -> tuple[Entry, ...]:
    """What is configured for so many workers: an entry that takes them all, or one for each where
    it is the gateway that dials."""
    if protocol in LISTENING_WORKERS:
        return tuple(
            make_entry("south", f"hosts-{nth}", protocol, address, listens=False)
            for nth in range(count)
        )
    entry = make_entry("south", "hosts", protocol, address, listens=True)
    if not entry.tokens:
        return (entry,)
    grants = tuple(Grant(Spoken(text=_token(nth)), f"node-{nth}") for nth in range(count))
    return (attrs.evolve(entry, tokens=grants),)


def _token(nth: int) -> str:
    return f"token-{nth}"


async def stand(kind: Kind, protocol: str, count: int, address: str, journal: str) -> None:
    """Be what workers come to, until all are there."""
    entries = entries_of(protocol, address, count)
    async with trio.open_nursery() as nursery:
        came = _Gateway(journal) if kind is Kind.BRIDGE else _Bare()
        await came.take(entries[:WARM], nursery)
        settle()
        _write("ready")
        await _until(came.count, WARM)
        before = rss(os.getpid())
        _write("warm")
        await came.take(entries[WARM:], nursery)
        await _until(came.count, count)
        _write(str(rss(os.getpid()) - before))
        nursery.cancel_scope.cancel()


class _Gateway:
    """A gateway, without routes."""

    def __init__(self, journal: str) -> None:
        self._journal = journal
        self._entries: tuple[Entry, ...] = ()
        self._member: Member | None = None

    async def take(self, entries: tuple[Entry, ...], nursery: trio.Nursery) -> None:
        """Have these entries, too."""
        self._entries += entries
        settings = GatewaySettings("memory:", name="gateway")
        config = Config("idle.toml", settings, self._entries, (), ())
        if self._member is None:
            self._member = Member(config, partial(open_sqlite_journal, self._journal))
            await nursery.start(self._member.run)
        elif entries:
            await self._member.apply(config)

    async def count(self) -> int:
        """Workers that are there."""
        assert self._member is not None
        answer = await self._member.hub.submit(ListWorkers())
        return len(answer.workers) if isinstance(answer, WorkerList) else 0


class _Bare:
    """A relay that nobody has joined: links, and nothing else."""

    def __init__(self) -> None:
        self._links: list[Link] = []

    async def take(self, entries: tuple[Entry, ...], nursery: trio.Nursery) -> None:
        """Have these entries, too."""
        for entry in entries:
            await nursery.start(have_link, entry, self._have)

    async def _have(self, link: Link) -> None:
        self._links.append(link)
        await trio.sleep_forever()

    async def count(self) -> int:
        """Links that are there."""
        return len(self._links)


async def _until(there: Callable[[], Awaitable[int]], count: int) -> None:
    while await there() < count:  # noqa: ASYNC110 - what is waited for has no event of its own
        await trio.sleep(REST / 10)
    await trio.sleep(REST)
    gc.collect()


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# --- they themselves


class Workers:
    """Idle workers of a protocol that come to `address`; `plain` ones have a link and say
    nothing."""

    def __init__(self, protocol: str, address: str, *, plain: bool) -> None:
        listens = protocol in LISTENING_WORKERS
        self._entry = make_entry("north", "worker", protocol, address, listens=listens)
        self._plain = plain
        self._count = 0

    async def come(
        self, count: int, warm: trio.Event, *, task_status: trio.TaskStatus[None]
    ) -> None:
        """The first of them come, and once it is `warm` so many in all. They stay until
        cancelled."""
        async with (
            open_memory_journal() as journal,
            open_hub(journal, OneWay(), TrioClock()) as hub,
            trio.open_nursery() as nursery,
        ):

            async def be(link: Link) -> None:
                number, self._count = self._count, self._count + 1
                if self._plain:
                    await trio.sleep_forever()
                side = adapters(())[self._entry.protocol].northbound
                settings = _named(self._entry.settings, number)
                driver = Driver(link, side.open(settings), hub, TrioClock(), SeenLink())
                await driver.run(_opening(number))

            options = carriage_of(self._entry)
            if self._entry.listens:
                async with open_listener(self._entry.address, options) as listener:
                    task_status.started()
                    await listener.serve(be)
                return
            async with open_dialer(self._entry.address, options) as dialer:

                async def dial() -> None:
                    nursery.start_soon(be, await dialer.dial())

                task_status.started()
                await _together(dial, WARM)
                await warm.wait()
                await _together(dial, count - WARM)
                await trio.sleep_forever()


async def _together(dial: Callable[[], Awaitable[None]], count: int) -> None:
    for at in range(0, count, SIDE_BY_SIDE):
        async with trio.open_nursery() as nursery:
            for _ in range(min(SIDE_BY_SIDE, count - at)):
                nursery.start_soon(dial)


def _named(settings: Any, nth: int) -> Any:
    """Settings under which a worker is no other's."""
    names = {"client_id": f"host-{nth}", "instance_id": f"host_{nth:024}"}
    return attrs.evolve(settings, **{k: v for k, v in names.items() if hasattr(settings, k)})


def _opening(nth: int) -> Opening:
    return Opening(
        "worker",
        instance=f"00000000-0000-4000-8000-{nth:012}",
        token=_token(nth),
        entropy=nth.to_bytes(16, "big"),
    )


def main(args: Sequence[str]) -> None:
    """Be what workers come to."""
    kind, protocol, count, address, journal = args
    trio.run(stand, Kind(kind), protocol, int(count), address, journal)


if __name__ == "__main__":
    main(sys.argv[1:])
