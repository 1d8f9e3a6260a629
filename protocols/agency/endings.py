"""Ends of runs that a daemon does not report by an event, and what its errors tell."""

from __future__ import annotations

import re
from typing import Final

import attrs

from fleetgate.core.events import GapFound, Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.tracking import Tracked
from fleetgate.protocols.api import Record

UNKNOWN_RUN: Final = "the daemon does not know the run any more; side effects are uncertain"

_RETAINED: Final = re.compile(r"older than retained sequence (\d{1,20})")


def lost(run: RunId, why: str) -> Record:
    """Nobody can know how the run ended."""
    return Record(run, (RunFinished(Outcome(RunState.LOST, Reason.LOST, why)),))


def refused(run: RunId, why: str) -> Record:
    """The run never began: it cannot be put to the daemon, or the daemon would not have it."""
    return Record(run, (RunFinished(Outcome(RunState.FAILED, Reason.REFUSED, why)),))


def not_started(run: RunId, error: wire.Error) -> Record:
    """The daemon would not, or could not, start the run."""
    failed = error.code is wire.ErrorCode.INTERNAL
    reason = Reason.FAILED_TO_START if failed else Reason.REFUSED
    return Record(run, (RunFinished(Outcome(RunState.FAILED, reason, error.message)),))


def unread(tracked: Tracked, outcome: Outcome, latest: int) -> Record:
    """The run has ended, and its events up to `latest` cannot be had."""
    times = f"{tracked.tries} links ended where the event behind number {tracked.last} was to come"
    gap = GapFound(tracked.last + 1, latest, times)
    end = RunFinished(attrs.evolve(outcome, message=f"{times}; the end is by the daemon's list"))
    return Record(tracked.run, (gap, end), latest)


def retained_from(error: wire.Error) -> int | None:
    """Where the events begin that the daemon still has, of an attachment's error; 0 if it does
    not say where, None if the error is about something else. To an attachment, a conflict can
    mean nothing else."""
    if error.code is not wire.ErrorCode.CONFLICT:
        return None
    found = _RETAINED.search(error.message)
    return int(found[1]) if found else 0
