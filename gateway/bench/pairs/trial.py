"""One trial of a pair, from nothing to a sample."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import trio

from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.pairs.load import (
    Ends,
    PairSample,
    open_ends,
    pass_through,
    push_through,
)
from fleetgate.gateway.bench.pairs.places import places_of
from fleetgate.gateway.bench.pairs.sampled import BEGIN, BEGUN, END, read_spots
from fleetgate.gateway.bench.pairs.saying import Work
from fleetgate.gateway.bench.sampler import Spot
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.bench.trial import new_directory
from fleetgate.gateway.fidelity.bridge import configs_of

PATIENCE: Final = 90.0
"""Seconds that a trial may take: some thirty times what the slowest pair needs by itself."""

_SUBJECT: Final = "fleetgate.gateway.bench.pairs.subject"
_SAMPLED: Final = "fleetgate.gateway.bench.pairs.sampled"

_T = TypeVar("_T")


async def run_pair(kind: Kind, north: str, south: str, work: Work, disk: Path) -> PairSample:
    """Run it; a bridge's journal lies in a new directory under `disk`, and is gone after.

    Raises: `BenchFailed`.
    """
    name = f"{kind.value} from {north} to {south}, {work.runs} runs"
    async with _family(name) as family:
        if kind is Kind.BRIDGE:

            async def measure(ends: Ends, child: Child) -> PairSample:
                return await pass_through(ends, child.pid, work)

            return await _between(north, south, disk, family, (_SUBJECT, kind.value), measure)
        with tempfile.TemporaryDirectory(prefix="bench-") as sockets:
            at = places_of(north, south, Path(sockets))
            controller, _, host = configs_of(north, south, at)
            words = (_SUBJECT, kind.value, north, south, *at, "")
            async with open_child(kind.value, *words, family=family) as child:
                await child.line(_ready)
                return await push_through(controller, host, child.pid, work)


async def sample_pair(
    north: str, south: str, work: Work, disk: Path
) -> tuple[PairSample, list[Spot]]:
    """The same of a bridge, and where its time went meanwhile.

    Raises: `BenchFailed`.
    """

    async def measure(ends: Ends, child: Child) -> tuple[PairSample, list[Spot]]:
        found: list[Spot] = []

        async def before() -> None:
            await child.tell(BEGIN)
            await child.line(lambda line: True if line == BEGUN else None)

        async def behind() -> None:
            await child.tell(END)
            found.extend(await child.line(read_spots))

        return await pass_through(ends, child.pid, work, before, behind), found

    async with _family(f"profile of a bridge from {north} to {south}") as family:
        return await _between(north, south, disk, family, (_SAMPLED,), measure)


@asynccontextmanager
async def _family(name: str) -> AsyncGenerator[list[Child]]:
    """Processes of a trial; where it fails, they give an account of themselves."""
    family: list[Child] = []
    try:
        with trio.fail_after(PATIENCE):
            yield family
    except (trio.TooSlowError, ExceptionGroup) as error:
        accounts = [child.account() for child in family]
        raise BenchFailed("\n".join([f"{name}: {error!r}", *accounts])) from error


async def _between(
    north: str,
    south: str,
    disk: Path,
    family: list[Child],
    subject: Sequence[str],
    measure: Callable[[Ends, Child], Awaitable[_T]],
) -> _T:
    """What is measured between the two ends of a bridge, which is `subject`."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as sockets,
        new_directory(disk) as journal,
    ):
        at = places_of(north, south, Path(sockets))
        controller, _, host = configs_of(north, south, at)
        words = (*subject, north, south, *at, str(Path(journal) / "journal.db"))
        async with trio.open_nursery() as nursery:
            async with (
                open_ends(controller, host, nursery) as (ends, dial),
                open_child("gateway", *words, family=family, listens=True) as child,
            ):
                await child.line(_ready)
                await dial()
                found = await measure(ends, child)
                await ends.stop()  # before their journals are closed
            nursery.cancel_scope.cancel()
            return found


def _ready(line: str) -> bool | None:
    return True if line == "ready" else None
