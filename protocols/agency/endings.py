"""Ends of runs that a daemon does not report by an event, and what its errors tell."""

from __future__ import annotations

import re
from typing import Final

from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.agency import wire
from fleetgate.protocols.api import Record

UNKNOWN_RUN: Final = "the daemon does not know the run any more; side effects are uncertain"

_RETAINED: Final = re.compile(r"older than retained(?: sequence (\d{1,20}))?")


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


def retained_from(error: wire.Error) -> int | None:
    """Where the events begin that the daemon still has, if that is what its error is about;
    0 if it does not say where."""
    found = _RETAINED.search(error.message) if error.code is wire.ErrorCode.CONFLICT else None
    if found is None:
        return None
    return int(found[1]) if found[1] else 0
