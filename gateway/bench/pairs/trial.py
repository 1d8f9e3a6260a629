"""One trial of a pair, from nothing to a sample."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import trio

from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.pairs.load import (
    PairSample,
    Work,
    open_ends,
    pass_through,
    push_through,
)
from fleetgate.gateway.bench.pairs.places import places_of
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.gateway.bench.trial import new_directory
from fleetgate.gateway.fidelity.bridge import configs_of

PATIENCE: Final = 90.0
"""Seconds that a trial may take: some thirty times what the slowest pair needs by itself."""

_SUBJECT: Final = "fleetgate.gateway.bench.pairs.subject"


async def run_pair(kind: Kind, north: str, south: str, work: Work, disk: Path) -> PairSample:
    """Run it; a bridge's journal lies in a new directory under `disk`, and is gone after.

    Raises: `BenchFailed`.
    """
    family: list[Child] = []
    try:
        with (
            tempfile.TemporaryDirectory(prefix="bench-") as sockets,
            new_directory(disk) as journal,
            trio.fail_after(PATIENCE),
        ):
            at = places_of(north, south, Path(sockets))
            controller, _, host = configs_of(north, south, at)
            words = (kind.value, north, south, *at, str(Path(journal) / "journal.db"))
            async with trio.open_nursery() as nursery:
                if kind is Kind.BRIDGE:
                    async with (
                        open_ends(controller, host, nursery) as (ends, dial),
                        open_child("gateway", _SUBJECT, *words, family=family) as child,
                    ):
                        await child.line(_ready)
                        await dial()
                        sample = await pass_through(ends, child.pid, work)
                else:
                    async with open_child("relay", _SUBJECT, *words, family=family) as child:
                        await child.line(_ready)
                        sample = await push_through(controller, host, child.pid, work)
                nursery.cancel_scope.cancel()
                return sample
    except (trio.TooSlowError, ExceptionGroup) as error:
        accounts = [child.account() for child in family]
        why = f"{kind.value} from {north} to {south}, {work.runs} runs: {error!r}"
        raise BenchFailed("\n".join([why, *accounts])) from error


def _ready(line: str) -> bool | None:
    return True if line == "ready" else None
