"""`gateway bench --only recovery`: how long a gateway takes to come back on a long journal, and how
long a follower takes to be given a long run again."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import trio

from fleetgate.core.hub_testing import read_until
from fleetgate.core.times import SECOND
from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.pairs.places import PROTOCOLS, places_of
from fleetgate.gateway.bench.standing import open_standing
from fleetgate.gateway.bench.subjects import Kind

WITHIN: Final = 300.0
"""Seconds that one start may take."""

EMPTY: Final = "ready, empty journal"
FULL: Final = "ready, full journal"
REPLAY: Final = "replay"
_SUBJECT: Final = "fleetgate.gateway.bench.pairs.subject"


@attrs.frozen(slots=True)
class RecoveryPlan:
    """A journal of so many events, `replayed` of them of one run, and of so many open runs."""

    events: int = 1_000_000
    replayed: int = 100_000
    open_runs: int = 10_000
    rounds: int = 3


QUICK: Final = RecoveryPlan(events=20_000, replayed=10_000, open_runs=500, rounds=1)


@attrs.frozen(slots=True)
class RecoverySample:
    """Nanoseconds: from before the process was made until every entry was started; or from the
    first read until the last event was there."""

    what: str
    taken: int


def measure(disk: Path, plan: RecoveryPlan) -> list[RecoverySample]:
    """Make the journal, and measure on it. It lies under `disk`, and is gone after.

    Raises: `BenchFailed`, `OSError`, `JournalError`.
    """
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as directory:
        return trio.run(_measure, Path(directory), plan)


async def _measure(directory: Path, plan: RecoveryPlan) -> list[RecoverySample]:
    full = directory / "full.db"
    async with open_standing(full) as standing:
        long = await standing.run("long")
        await standing.say(long, plan.replayed)
        await standing.say(await standing.run("rest"), plan.events - plan.replayed)
        await standing.open_runs(plan.open_runs)
    samples: list[RecoverySample] = []
    for nth in range(plan.rounds):
        for what, path in ((EMPTY, directory / f"{nth}.db"), (FULL, full)):
            samples.append(RecoverySample(what, await _start(path)))
    async with open_standing(full) as standing:
        for _ in range(plan.rounds):
            begun = time.monotonic_ns()
            await read_until(standing.hub, long, plan.replayed)
            samples.append(RecoverySample(REPLAY, time.monotonic_ns() - begun))
    return samples


async def _start(journal: Path) -> int:
    family: list[Child] = []
    protocol = PROTOCOLS[0]
    with tempfile.TemporaryDirectory(prefix="bench-") as sockets, trio.fail_after(WITHIN):
        at = places_of(protocol, protocol, Path(sockets))
        words = (Kind.BRIDGE.value, protocol, protocol, *at, str(journal))
        begun = time.monotonic_ns()
        async with open_child("gateway", _SUBJECT, *words, family=family) as child:
            await child.line(lambda line: True if line == "ready" else None)
            return time.monotonic_ns() - begun


HEAD: Final = ("what", "p50, ms", "least, ms")


def rows(samples: Iterable[RecoverySample]) -> list[Sequence[str]]:
    """The lines of the table."""
    groups: dict[str, list[int]] = {}
    for sample in samples:
        groups.setdefault(sample.what, []).append(sample.taken)
    return [
        (what, f"{median(taken) * 1000 / SECOND:.0f}", f"{min(taken) * 1000 / SECOND:.0f}")
        for what, taken in groups.items()
    ]
