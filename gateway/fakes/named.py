"""The protocol's own names for workers and runs, as whoever tests with a fake knows them.

In the core both have the name of their entry before them. A fake has one entry, so nothing is lost
without it. The long form is taken wherever a name comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from fleetgate.core.errors import InvalidArgument, RunNotFound
from fleetgate.core.events import Recorded, RunAssigned
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.core.worker import WorkerStatus
from fleetgate.gateway import render
from fleetgate.gateway.render import Line

MOST_NAMED: Final = 5
"""Runs that an error names: what fits on a line."""

Owns: TypeAlias = Callable[[str, str], bool]
"""Whether a run, by its id without the entry's name, is of the run of this name."""


def short_name(id: str) -> str:
    """A name without that of its entry. The one worker of a link has no other."""
    return id.partition("/")[2] or id


def itself(own: str, name: str) -> bool:
    """A run of the protocol's is one run."""
    return own == name


def call_of(own: str, name: str) -> bool:
    """A run of the protocol's has calls, and each is a run: `RUN/CALL`."""
    return name in (own, own.rpartition("/")[0])


def played_run(name: str, runs: Sequence[RunId], owns: Owns = itself) -> RunId:
    """The one of `runs` that is meant by its own name, or by the whole id.

    Raises: `RunNotFound`, `InvalidArgument` where several are meant; both name runs.
    """
    if name in runs:
        return RunId(name)
    found = [run for run in runs if owns(short_name(run), name)]
    if not found:
        raise RunNotFound(f"no scripted run {name} is open here; open: {_listed(runs) or 'none'}")
    if len(found) > 1:
        raise InvalidArgument(f"run: {name} may be any of {_listed(found)}; say the whole id")
    return found[0]


def _listed(runs: Sequence[RunId]) -> str:
    more = len(runs) - MOST_NAMED
    return ", ".join(runs[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def event_line(recorded: Recorded) -> Line:
    """An event with its place, its worker by the worker's own name."""
    line = render.event_line(recorded)
    return _shortened(line) if isinstance(recorded.event, RunAssigned) else line


def run_line(run: Run) -> Line:
    """A run as it stands, likewise."""
    return _shortened(render.run_line(run))


def worker_line(status: WorkerStatus) -> Line:
    """A worker as it stands, likewise."""
    return _shortened(render.worker_line(status))


def _shortened(line: Line) -> Line:
    worker: Any = line["worker"]
    return line if worker is None else {**line, "worker": short_name(worker)}
