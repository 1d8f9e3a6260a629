"""A whole gateway in virtual time: at two of its entries peers that bend what they say, at the
others a controller and a worker whose run goes on and ends as if there were nobody else.

An input is a pair and the seed of all chance in the trial.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from random import Random
from typing import Any, Final

import attrs
import fuzz_agency
import fuzz_iop
import fuzz_rvbox
import trio
from fuzz_engine import Mutate, Target, demand
from fuzz_json import mutate_json
from fuzz_pools import pool
from fuzz_seeds import TESTS, recorded
from fuzz_wire import wired
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core import testing as drawn
from fleetgate.core.errors import Refusal
from fleetgate.core.ids import SessionId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.worker import InputKind
from fleetgate.gateway.carrying import options_of
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry, Facing, side_of
from fleetgate.gateway.fidelity.bridge import (
    GUI,
    HOSTS,
    LOCAL,
    Bridge,
    configs_of,
)
from fleetgate.gateway.fidelity.member import Member, Open, staying
from fleetgate.gateway.keeper import bare
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.iop import testing as iop_testing
from fleetgate.protocols.kodelet import testing as kodelet_testing
from fleetgate.schemas.iop import link_pb2
from fleetgate.transports.api import Link, LinkError, LinkStatistics
from fleetgate.transports.open import open_dialer, open_listener

sys.path.insert(0, str(TESTS / "chaos"))
from chaos_world import determined

PAIRS: Final = (("agency", "rvbox"), ("rvbox", "iop"), ("iop", "kodelet"), ("kodelet", "agency"))
BAD: Final = {"north": "bad-gui", "south": "bad-hosts"}
LINKS: Final = 12
"""Links that a bad peer has, one after the other."""


@attrs.frozen
class Said:
    """What a side of a protocol is sent, and how that is bent."""

    frames: tuple[bytes, ...]
    mutate: Mutate


_ENVELOPE: Final = wired(fuzz_rvbox.ENVELOPE)
SAID: Final[dict[tuple[str, str], Said]] = {
    ("agency", "north"): Said(fuzz_agency.CLIENT, fuzz_agency.mutate_whole),
    ("agency", "south"): Said(fuzz_agency.SERVER, fuzz_agency.mutate_whole),
    ("rvbox", "north"): Said(fuzz_rvbox.SEEDS, _ENVELOPE),
    ("rvbox", "south"): Said(fuzz_rvbox.SEEDS, _ENVELOPE),
    ("iop", "north"): Said(iop_testing.frames_for_node(), wired(link_pb2.EdgeMessage.DESCRIPTOR)),
    ("iop", "south"): Said(
        (b"\n\t\n\x07a-token", *fuzz_iop.NODE), wired(link_pb2.NodeMessage.DESCRIPTOR)
    ),
    ("kodelet", "north"): Said(
        (*recorded("kodelet", "controller"), *kodelet_testing.NORTH_FRAMES), mutate_json
    ),
    ("kodelet", "south"): Said(
        (*recorded("kodelet", "worker"), *kodelet_testing.SOUTH_FRAMES), mutate_json
    ),
}


def _places() -> tuple[str, str]:
    """The addresses of both bad entries."""
    return f"memory:{BAD['north']}", f"memory:{BAD['south']}"


def with_bad(config: Config, north: str, south: str) -> Config:
    """The gateway's config with both bad entries, and routes from and to them."""
    _, bad, _ = configs_of(north, south, _places())
    (route,) = bad.routes
    return attrs.evolve(
        config,
        north=(*config.north, attrs.evolve(bad.north[0], name=BAD["north"])),
        south=(*config.south, attrs.evolve(bad.south[0], name=BAD["south"])),
        routes=(*config.routes, attrs.evolve(route, from_=BAD["north"], to=BAD["south"])),
    )


@attrs.frozen
class BadPeer:
    """Says things at an entry."""

    entry: Entry
    facing: Facing
    draw: Random

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Have links, until all are used up."""
        side = side_of(adapters(())[self.entry.protocol], self.facing)
        options = options_of(self.entry, side.carriage(self.entry.settings))
        if self.entry.listens:
            async with open_dialer(self.entry.address, options) as dialer:
                task_status.started()
                for _ in range(LINKS):
                    try:
                        link = await dialer.dial()
                    except LinkError:
                        await trio.sleep(self.draw.random())
                        continue
                    await self.speak(link)
            return
        async with (
            open_listener(self.entry.address, options) as listener,
            trio.open_nursery() as both,
        ):
            both.start_soon(listener.serve, self.speak)
            task_status.started()
            await trio.sleep_forever()

    async def speak(self, link: Link) -> None:
        """One link, from its first frame to its end."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hear, link)
            try:
                for frame in self.script():
                    await link.send(frame)
                    await trio.sleep(self.draw.choice((0, 0, 0.01, 1)))
                await trio.sleep(self.draw.choice((0, 3)))
            except LinkError:
                pass
            await link.close(self.draw.choice((None, 1000, 1001, 1008)))
            nursery.cancel_scope.cancel()

    async def _hear(self, link: Link) -> None:
        try:
            async for _ in link:
                pass
        except LinkError:
            return

    def script(self) -> Sequence[bytes]:
        """An honest beginning, or none; then anything."""
        said = SAID[self.entry.protocol, self.facing]
        side = side_of(adapters(())[self.entry.protocol], self.facing)
        limit = side.carriage(self.entry.settings).limit
        frames = list(said.frames[: self.draw.randrange(6)])
        for _ in range(self.draw.randrange(12)):
            frame = self.draw.choice(said.frames)
            frames.append(said.mutate(self.draw, frame, said.frames))
        return [frame[:limit] for frame in frames]


async def _play(north: str, south: str, bends: bool, draw: Random) -> bool:
    controller, gateway, host = configs_of(north, south)
    gateway = with_bad(gateway, north, south)
    bent = Bent(gateway, draw)
    async with AsyncExitStack() as stack:
        kept = [staying(await stack.enter_async_context(open_memory_journal())) for _ in range(5)]
        nursery = await stack.enter_async_context(trio.open_nursery())
        bridge = Bridge(
            Member(controller, kept[0]),
            Member(gateway, kept[1], wrap=bent.wrap if bends else bare),
            Member(host, kept[2], {LOCAL: frozenset(InputKind)}),
            nursery,
        )
        if bends:
            await bridge.up()
            nursery.start_soon(_others, bridge, north, south, kept[3:], draw)
        else:
            for peer in bad_peers(gateway, draw):
                if peer.entry.listens:
                    nursery.start_soon(_later, peer)
                else:
                    await nursery.start(peer.run)
            await bridge.up()
        await _good_run(bridge)
        links = _judge(bridge)
        nursery.cancel_scope.cancel()
    return links > 0


def bad_peers(gateway: Config, draw: Random) -> Iterator[BadPeer]:
    """Whoever speaks at the bad entries."""
    for entry in (*gateway.north, *gateway.south):
        if entry.name in BAD.values():
            yield BadPeer(entry, entry.facing, Random(draw.random()))


# --- peers that mean well, on links that bend what they say


class BentLink(Link):
    """A link on which some frames become others, on both ways."""

    def __init__(self, link: Link, bend: Callable[[bytes], bytes]) -> None:
        self.opening = link.opening
        self.speaks_status = link.speaks_status
        self._link = link
        self._bend = bend

    async def receive_some(self) -> Sequence[bytes]:
        return [self._bend(frame) for frame in await self._link.receive_some()]

    async def receive(self) -> bytes:
        return self._bend(await self._link.receive())

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await self._link.send_some([self._bend(frame) for frame in frames])

    async def close(self, code: int | None, reason: str = "") -> None:
        await self._link.close(code, reason)

    async def wait_over(self) -> None:
        await self._link.wait_over()

    def statistics(self) -> LinkStatistics:
        return self._link.statistics()


class Bent:
    """Bends the links of the bad entries."""

    def __init__(self, gateway: Config, draw: Random) -> None:
        self._draw = draw
        self._often = draw.choice((0.01, 0.05, 0.2))

    def wrap(self, entry: Entry, link: Link) -> Link:
        """The link, or a bent one."""
        if entry.name not in BAD.values():
            return link
        said = SAID[entry.protocol, entry.facing]
        back = SAID[entry.protocol, "south" if entry.facing == "north" else "north"]
        side = side_of(adapters(())[entry.protocol], entry.facing)
        limit = side.carriage(entry.settings).limit
        spoken = (*said.frames, *back.frames)

        def bend(frame: bytes) -> bytes:
            if self._draw.random() > self._often:
                return frame
            return said.mutate(self._draw, frame, spoken)[:limit]

        return BentLink(link, bend)


async def _others(
    bridge: Bridge, north: str, south: str, kept: Sequence[Open], draw: Random
) -> None:
    """A controller and a worker at the bad entries, with runs of their own."""
    controller, _, host = configs_of(north, south, _places())
    bad = Bridge(
        Member(controller, kept[0]),
        bridge.gateway,
        Member(host, kept[1], {LOCAL: frozenset(InputKind)}),
        bridge.nursery,
    )
    await bridge.nursery.start(bad.host.run)
    await bridge.nursery.start(bad.controller.run)
    worker = await bad.join()
    OTHERS.append(bad)
    begun = answered = 0
    while True:
        await trio.sleep(draw.random() * 2)
        begun += 1
        with suppress(Refusal):
            await bad.start(f"b{begun}", session=SessionId(f"s{begun % 3}"))
        for order in worker.port.orders[answered:]:
            answered += 1
            if isinstance(order.command, c.StartRun):
                events = draw.choices(pool(drawn.events), k=draw.randrange(6))
                bad.say(order.run, e.RunStarted(), *events)
            elif not order.input:
                worker.settle(order.run, order.number)


OTHERS: Final[list[Bridge]] = []
"""Those of the trial that is on."""


async def _later(peer: BadPeer) -> None:
    await trio.sleep(0.5)
    await peer.run()


async def _good_run(bridge: Bridge) -> None:
    """A run from its start to its end, with time between."""
    run = await bridge.start("r1")
    at_worker = await bridge.given()
    bridge.say(at_worker, e.RunStarted())
    words = [f"word {number}, " for number in range(12)]
    for word in words:
        bridge.say(at_worker, e.OutputProduced(e.Stream.STDOUT, word.encode()))
        await trio.sleep(2)
    bridge.settle(at_worker)
    done = e.Outcome(e.RunState.SUCCEEDED, e.Reason.EXITED, exit_code=0)
    bridge.say(at_worker, e.RunFinished(done))
    outcome = await bridge.ended(run)
    demand(outcome.state is e.RunState.SUCCEEDED, f"the neighbour's run came to {outcome}")
    bridge.check(run)


def _judge(bridge: Bridge) -> int:
    """No fault of ours, no end of a link of the good entries. How many bad links there were."""
    seen = bridge.gateway.seen.entries
    others = [member for bad in OTHERS for member in (bad.controller, bad.host)]
    for member in (bridge.controller, bridge.gateway, bridge.host, *others):
        for fault in member.faults():
            raise fault
    for name in (GUI, HOSTS):
        demand(len(seen[name].links) == 1, f"{name} has had {len(seen[name].links)} links")
        demand(not seen[name].named("down"), f"a link of {name} went down")
    return sum(len(seen[name].links) for name in BAD.values() if name in seen)


def run_whole(data: bytes) -> bool:
    """A trial. Bad peers say what they like, or good ones have links that bend it."""
    kind = data[0] if data else 0
    north, south = PAIRS[kind % len(PAIRS)]
    bends = bool(kind & 4)
    draw = Random(data.hex())
    OTHERS.clear()
    with determined(draw):
        return trio.run(_play, north, south, bends, draw, clock=MockClock(autojump_threshold=0))


def mutate_seed(draw: Random, data: bytes, seeds: Any) -> bytes:
    """Another seed."""
    return draw.randbytes(9)


def _warm() -> None:
    pool(drawn.events)


def _room(size: int) -> int:
    return 64 << 20


TARGETS: Final = (
    Target(
        "whole.gateway",
        tuple(bytes([at]) + bytes(8) for at in range(2 * len(PAIRS))),
        run_whole,
        mutate_seed,
        scale=0.005,
        prepare=_warm,
        room=_room,
    ),
)
