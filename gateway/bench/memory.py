"""`gateway bench --only memory`: what one more of something takes.

`python -m fleetgate.gateway.bench.memory WHAT COUNT JOURNAL` is one measurement, in a process of
its own; it says the bytes on a line.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import attrs
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.pairs.places import PROTOCOLS, carriage_of, places_of
from fleetgate.gateway.bench.process import rss
from fleetgate.gateway.bench.standing import Standing, open_standing
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.fidelity.bridge import LISTENING_WORKERS, configs_of
from fleetgate.transports.api import Link
from fleetgate.transports.open import open_dialer

WITHIN: Final = 300.0
"""Seconds that one measurement may take."""

SIDE_BY_SIDE: Final = 50
"""Links that are dialled at a time: fewer than handshakes that a listener has under way."""

BESIDE: Final = ("open run", "idle worker", "follower")
"""What a hub has in memory, without a link."""


@attrs.frozen(slots=True)
class MemoryPlan:
    """How many of each thing are made; links at most as many as the handshakes' deadlines allow."""

    things: int = 4_000
    links: int = 400


QUICK: Final = MemoryPlan(things=1_000, links=100)


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


def measure(disk: Path, plan: MemoryPlan) -> list[MemorySample]:
    """Measure all, one after the other.

    Raises: `BenchFailed`.
    """
    return trio.run(_measure, disk, plan)


async def _measure(disk: Path, plan: MemoryPlan) -> list[MemorySample]:
    samples: list[MemorySample] = []
    for what in BESIDE:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as directory:
            words = (what, str(plan.things), str(Path(directory) / "journal.db"))
            family: list[Child] = []
            async with open_child("hub", _SELF, *words, family=family) as child:
                with trio.fail_after(WITHIN):
                    size = await child.line(lambda line: int(line) if line.isdigit() else None)
        samples.append(MemorySample(what, "hub", plan.things, size))
    for protocol in PROTOCOLS:
        for kind in Kind:
            size = await _links(kind, protocol, plan.links, disk)
            samples.append(MemorySample(f"link, {protocol}", kind.value, plan.links, size))
    return samples


_SELF: Final = "fleetgate.gateway.bench.memory"
_SUBJECT: Final = "fleetgate.gateway.bench.pairs.subject"


async def _links(kind: Kind, protocol: str, count: int, disk: Path) -> int:
    """Bytes that so many links add, of peers that have said nothing yet."""
    family: list[Child] = []
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as sockets,
        tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as journal,
        trio.fail_after(WITHIN),
    ):
        at = places_of(protocol, protocol, Path(sockets))
        up, _, down = configs_of(protocol, protocol, at)
        entry = up.south[0] if protocol in LISTENING_WORKERS else down.north[0]
        words = (kind.value, protocol, protocol, *at, str(Path(journal) / "journal.db"))
        async with open_child(kind.value, _SUBJECT, *words, family=family) as child:
            await child.line(lambda line: True if line == "ready" else None)
            links: list[Link] = []
            async with open_dialer(entry.address, carriage_of(entry)) as dialer:

                async def dial() -> None:
                    links.append(await dialer.dial())

                await dial()
                before = rss(child.pid)
                for _ in range(0, count, SIDE_BY_SIDE):
                    async with trio.open_nursery() as nursery:
                        for _ in range(SIDE_BY_SIDE):
                            nursery.start_soon(dial)
                after = rss(child.pid)
                for link in links:
                    await link.close(None)
            return after - before


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
            standing.follow(await standing.run(f"followed-{count}"), count, nursery)
            await wait_all_tasks_blocked()
        case _:
            raise BenchFailed(f"nobody knows how to make a {what}; there are {', '.join(BESIDE)}")


HEAD: Final = ("what", "where", "how many", "KiB each", "over the bare transport, KiB each")


def rows(samples: Iterable[MemorySample]) -> list[Sequence[str]]:
    """The lines of the table."""
    lines: list[Sequence[str]] = []
    bare: dict[str, float] = {}
    for sample in samples:
        over = ""
        if sample.where == Kind.RELAY.value:
            bare[sample.thing] = sample.each
        elif sample.thing in bare:
            over = f"{(sample.each - bare[sample.thing]) / 1024:.1f}"
        each = f"{sample.each / 1024:.1f}"
        lines.append((sample.thing, sample.where, str(sample.count), each, over))
    return lines


def main(args: Sequence[str]) -> None:
    """Measure one thing in this process."""
    what, count, path = args
    sys.stdout.write(f"{trio.run(count_bytes, what, int(count), Path(path))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
