"""`gateway bench --only memory`: what one more of something takes.

`python -m fleetgate.gateway.bench.memory WHAT COUNT JOURNAL` is one measurement, in a process of
its own; it says the bytes on a line.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.idle import Workers
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.pairs.places import PROTOCOLS, places_of
from fleetgate.gateway.bench.process import rss
from fleetgate.gateway.bench.report import maybe
from fleetgate.gateway.bench.standing import Standing, open_standing
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.fidelity.bridge import LISTENING_WORKERS

WITHIN: Final = 300.0
"""Seconds that one measurement may take."""

BESIDE: Final = ("open run", "idle worker", "follower")
"""What a hub has in memory, without a link."""


@attrs.frozen(slots=True)
class MemoryPlan:
    """How many of each thing are made, and how many workers each have a link."""

    things: int = 4_000
    links: int = 400


PLAN: Final = MemoryPlan()

QUICK: Final = MemoryPlan(things=500, links=60)


@attrs.frozen(slots=True)
class MemorySample:
    """What so many of a thing added to a process, in bytes. `where`: a hub; or for links the
    gateway, or a relay, which has the transport and nothing else."""

    thing: str
    where: str
    count: int
    size: int

    @property
    def each(self) -> float:
        """Bytes of one."""
        return self.size / self.count


@attrs.frozen(slots=True)
class MemoryFigure:
    """Bytes of one of a thing; `over` those of a link of the same transport that nobody uses."""

    thing: str
    where: str
    count: int
    each: float
    over: float | None = None


def measure(disk: Path, plan: MemoryPlan, losses: Losses) -> list[MemorySample]:
    """Measure all, one after the other."""
    return trio.run(_measure, disk, plan, losses)


async def _measure(disk: Path, plan: MemoryPlan, losses: Losses) -> list[MemorySample]:
    samples: list[MemorySample] = []

    async def add(thing: str, where: str, count: int, size: Callable[[], Awaitable[int]]) -> None:
        found = await losses.attempt(f"{thing} at a {where}", partial(_within, size))
        if found is not None:
            samples.append(MemorySample(thing, where, count, found))
            sys.stderr.write(f"{thing} at a {where}: {samples[-1].each / 1024:.1f} KiB\n")

    for what in BESIDE:
        await add(what, "hub", plan.things, partial(_beside, what, plan.things, disk))
    for protocol in PROTOCOLS:
        for kind in (Kind.RELAY, Kind.BRIDGE):
            size = partial(_links, kind, protocol, plan.links, disk)
            await add(f"idle worker, {protocol}", kind.value, plan.links, size)
    return samples


async def _within(size: Callable[[], Awaitable[int]]) -> int:
    try:
        with trio.fail_after(WITHIN):
            return await size()
    except trio.TooSlowError:
        raise BenchFailed(f"it took more than {WITHIN:.0f} s") from None


async def _beside(what: str, count: int, disk: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as directory:
        words = (what, str(count), str(Path(directory) / "journal.db"))
        family: list[Child] = []
        async with open_child("hub", _SELF, *words, family=family) as child:
            return await child.line(_number)


_SELF: Final = "fleetgate.gateway.bench.memory"
_IDLE: Final = "fleetgate.gateway.bench.idle"


async def _links(kind: Kind, protocol: str, count: int, disk: Path) -> int:
    """Bytes that so many idle workers add, each on a link of its own; for a relay, their links."""
    family: list[Child] = []
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as sockets,
        tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as journal,
    ):
        address = places_of(protocol, protocol, Path(sockets))[1]
        words = (kind.value, protocol, str(count), address, str(Path(journal) / "journal.db"))
        workers, warm = Workers(protocol, address, plain=kind is not Kind.BRIDGE), trio.Event()
        async with trio.open_nursery() as nursery:
            come = partial(nursery.start, workers.come, count, warm)
            if protocol in LISTENING_WORKERS:
                await come()
            async with open_child(kind.value, _IDLE, *words, family=family) as child:
                await child.line(lambda line: True if line == "ready" else None)
                if protocol not in LISTENING_WORKERS:
                    await come()
                await child.line(lambda line: True if line == "warm" else None)
                warm.set()
                size = await child.line(_number)
            nursery.cancel_scope.cancel()
    return size


def _number(line: str) -> int | None:
    return int(line) if line.lstrip("-").isdigit() else None


async def count_bytes(what: str, count: int, path: Path) -> int:
    """Bytes that so many of a thing add to this process."""
    async with open_standing(path) as standing, trio.open_nursery() as nursery:
        await _make(standing, what, 10, nursery)  # what the first of them brings about stays
        gc.collect()
        before = rss(os.getpid())
        await _make(standing, what, count, nursery)
        gc.collect()
        size = rss(os.getpid()) - before
        nursery.cancel_scope.cancel()
    return size


async def _make(standing: Standing, what: str, count: int, nursery: trio.Nursery) -> None:
    match what:
        case "open run":
            await standing.open_runs(count)
        case "idle worker":
            await standing.idle_workers(count)
        case "follower":
            await standing.follow(await standing.run(f"followed-{count}"), count, nursery)
        case _:
            raise BenchFailed(f"nobody knows how to make a {what}; there are {', '.join(BESIDE)}")


def sum_up(samples: Iterable[MemorySample]) -> list[MemoryFigure]:
    """What the samples come to: a figure for each, and for a link what it has over the bare one."""
    bare: dict[str, float] = {}
    figures: list[MemoryFigure] = []
    for sample in samples:
        if sample.where == Kind.RELAY.value:
            bare[sample.thing] = sample.each
        over = sample.each - bare[sample.thing] if sample.thing in bare else None
        if sample.where != Kind.BRIDGE.value:
            over = None
        figures.append(MemoryFigure(sample.thing, sample.where, sample.count, sample.each, over))
    return figures


HEAD: Final = ("what", "where", "how many", "KiB each", "over the bare transport, KiB each")


def row(figure: MemoryFigure) -> Sequence[str]:
    """A figure's line of the table."""
    over = None if figure.over is None else figure.over / 1024
    each = f"{figure.each / 1024:.1f}"
    return (figure.thing, figure.where, str(figure.count), each, maybe(over, ".1f"))


def main(args: Sequence[str]) -> None:
    """Measure one thing in this process."""
    what, count, path = args
    sys.stdout.write(f"{trio.run(count_bytes, what, int(count), Path(path))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
