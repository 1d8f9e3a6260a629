"""One trial: three processes, from nothing to a sample."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import trio

from fleetgate.gateway.bench.child import Child, open_child
from fleetgate.gateway.bench.plan import Trial
from fleetgate.gateway.bench.sample import Sample, read_sample
from fleetgate.gateway.bench.subjects import Kind, open_subject
from fleetgate.gateway.bench.task import BenchFailed

PATIENCE: Final = 60.0
"""Seconds that a trial may take beyond its task's: starting three processes takes some three on
an idle machine, and a subject may lag behind its host."""


async def run_trial(trial: Trial, disk: Path, source: Path | None = None) -> Sample:
    """Run it; the journal lies in a new directory under `disk`, and is gone after. `source`: whose
    gateway is measured, as for `open_child`.

    Raises: `BenchFailed`.
    """
    limit = trial.task.seconds + PATIENCE
    why = f"a trial of the {trial.kind.value} took more than {limit:.0f} s"
    family: list[Child] = []
    try:
        with (
            tempfile.TemporaryDirectory(prefix="bench-") as sockets,
            new_directory(disk) as journal,
            trio.move_on_after(limit),
        ):
            return await _run(trial, Path(sockets), Path(journal), family, source)
    except* BenchFailed as failures:
        why = str(_first(failures))
    raise BenchFailed("\n".join([why, *(child.account() for child in family)]))


def new_directory(disk: Path) -> tempfile.TemporaryDirectory[str]:
    """A directory under `disk` for the time of a block."""
    # Absolute, since a config file's own paths are relative to where it lies.
    return tempfile.TemporaryDirectory(prefix="bench-", dir=disk.absolute())


async def _run(
    trial: Trial, sockets: Path, journal: Path, family: list[Child], source: Path | None
) -> Sample:
    async with open_subject(trial.kind, sockets, journal, family, source) as subject:
        relayed = trial.kind is not Kind.BRIDGE
        called = "relay" if relayed else "bridge"
        args = (called, str(subject.socket), str(subject.child.pid), str(trial.task))
        async with open_child("load client", _CLIENT, *args, family=family) as client:
            # The host starts last: until it is there the run waits, with its client attached.
            await client.line(lambda line: True if line == "ready" else None)
            plain = ("--plain",) if relayed else ()
            async with (
                open_child("load host", _HOST, subject.url, *plain, family=family) as host,
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(host.watch)
                sample = await client.line(read_sample)
                nursery.cancel_scope.cancel()
                return sample


_CLIENT: Final = "fleetgate.gateway.bench.client"
_HOST: Final = "fleetgate.gateway.bench.host"


def _first(failures: ExceptionGroup[BenchFailed]) -> BenchFailed:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, ExceptionGroup) else first
