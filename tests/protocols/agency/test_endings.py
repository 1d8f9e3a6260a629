"""Ends that no event tells of."""

import pytest

from fleetgate.core.events import GapFound, Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.agency import endings, refusals, wire
from fleetgate.protocols.agency.testing import REQUEST
from fleetgate.protocols.agency.tracking import Tracked
from fleetgate.protocols.api import Record

RUN = RunId("r")


def judged(record: Record) -> tuple[RunState, Reason, str]:
    (end,) = record.events
    assert isinstance(end, RunFinished)
    assert record.native_seq is None
    return end.outcome.state, end.outcome.reason, end.outcome.message


def test_three_ways_to_end_without_having_run_to_an_end() -> None:
    assert judged(endings.lost(RUN, "w")) == (RunState.LOST, Reason.LOST, "w")
    assert judged(endings.refused(RUN, "w")) == (RunState.FAILED, Reason.REFUSED, "w")
    for code, reason in (
        (wire.ErrorCode.INTERNAL, Reason.FAILED_TO_START),
        (wire.ErrorCode.PROTOCOL_VIOLATION, Reason.REFUSED),
    ):
        record = endings.not_started(RUN, wire.Error(code, "w"))
        assert judged(record) == (RunState.FAILED, reason, "w")


def test_a_run_whose_events_cannot_be_had_says_which_and_why() -> None:
    tracked = Tracked(RUN, REQUEST, last=4, tries=5)
    outcome = Outcome(RunState.CANCELED, Reason.CANCELED, "x")
    record = endings.unread(tracked, outcome, 9)
    gap, end = record.events
    assert isinstance(gap, GapFound)
    assert isinstance(end, RunFinished)
    assert (gap.from_seq, gap.to_seq, record.native_seq) == (5, 9, 9)
    assert (end.outcome.state, end.outcome.reason) == (RunState.CANCELED, Reason.CANCELED)
    assert end.outcome.message.startswith(gap.reason)
    assert "5 links" in gap.reason


def test_where_the_retained_events_begin() -> None:
    assert endings.retained_from(refusals.replay_expired(0, 954)) == 954


@pytest.mark.parametrize(
    ("code", "text", "floor"),
    [
        ("conflict", "the events are older than retained", 0),
        ("conflict", "older than retained sequence 12", 12),
        ("conflict", "older than retained sequence x", 0),
        ("conflict", "run already exists", 0),
        ("conflict", "", 0),
        ("internal", "older than retained sequence 12", None),
    ],
)
def test_other_texts(code: str, text: str, floor: int | None) -> None:
    assert endings.retained_from(wire.Error(wire.ErrorCode(code), text)) == floor
