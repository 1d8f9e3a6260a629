"""What a pair's trial measures: `python -m fleetgate.gateway.bench.pairs.subject KIND NORTH SOUTH
UPPER LOWER JOURNAL`. It says `ready`, and works until it is ended."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import trio

from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.gateway.bench.pairs.places import carriage_of
from fleetgate.gateway.bench.relay import COPIES
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fidelity.bridge import configs_of
from fleetgate.gateway.fidelity.member import Member
from fleetgate.gateway.heap import settle
from fleetgate.transports.api import Dialer, DialFailed, Handler, Link
from fleetgate.transports.open import open_dialer, open_listener

TRIES: Final = 200
AGAIN: Final = 0.05
"""How often an end is dialled that does not listen yet, and seconds in between: ten in all."""


async def bridge(
    north: str,
    south: str,
    at: tuple[str, str],
    journal: str,
    meanwhile: Callable[[], Awaitable[None]] = trio.sleep_forever,
) -> None:
    """A gateway between the two, everything as it comes, with a durable journal. Once it is ready
    it does what there is to do `meanwhile`."""
    config = configs_of(north, south, at)[1]
    member = Member(config, partial(open_sqlite_journal, journal))
    async with trio.open_nursery() as nursery:
        await nursery.start(member.run)
        settle()
        say("ready")
        await meanwhile()


async def relay(kind: Kind, north: str, south: str, at: tuple[str, str]) -> None:
    """Frames from the lower link to the upper one, as they are."""
    config = configs_of(north, south, at)[1]
    links: dict[str, Link] = {}
    both = trio.Event()

    async def take(name: str, link: Link) -> None:
        links.setdefault(name, link)
        if len(links) == 2:
            both.set()
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        for name, entry in (("upper", config.north[0]), ("lower", config.south[0])):
            await nursery.start(have_link, entry, partial(take, name))
        settle()
        say("ready")
        await both.wait()
        # The controller's end speaks first: that fixes a framing.
        await links["lower"].send(await links["upper"].receive())
        await COPIES[kind](links["lower"], links["upper"], bytes)
        nursery.cancel_scope.cancel()


async def have_link(
    entry: Entry,
    take: Handler,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Listen or dial as the entry says, and give each link to `take`."""
    options = carriage_of(entry)
    if entry.listens:
        async with open_listener(entry.address, options) as listener:
            task_status.started()
            await listener.serve(take)
        return
    task_status.started()
    async with open_dialer(entry.address, options) as dialer:
        link = await _dial(dialer)
        try:
            await take(link)
        finally:
            await link.close(None)


async def _dial(dialer: Dialer) -> Link:
    """A link to whoever is just starting."""
    for _ in range(TRIES):
        try:
            return await dialer.dial()
        except DialFailed:
            await trio.sleep(AGAIN)
    return await dialer.dial()


def say(line: str) -> None:
    """Write a line to whoever reads it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(args: Sequence[str]) -> None:
    """Run a subject."""
    kind, north, south, upper, lower, journal = args
    at = (upper, lower)
    if Kind(kind) is Kind.BRIDGE:
        trio.run(bridge, north, south, at, journal)
    else:
        trio.run(relay, Kind(kind), north, south, at)


if __name__ == "__main__":
    main(sys.argv[1:])
