"""The last event of a run as its outcome."""

from __future__ import annotations

import pytest

from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.heard import Tracked, hear
from fleetgate.protocols.iop.names import BODY


def ended(body: str, error: str = "") -> object:
    tracked = Tracked(RunId("r1"))
    hear(tracked, w.RunEvent("r1", "start"))
    return hear(tracked, w.RunEvent("r1", "error", error=error, metadata={BODY: body}))[-1]


@pytest.mark.parametrize(
    "body",
    [
        '{"state":"succeeded","reason":"exited"}',
        '{"state":"failed","reason":"whatever"}',
        '{"state":"failed"}',
        '{"state":"failed","reason":"error","message":7}',
        "{}",
    ],
)
def test_an_outcome_that_contradicts_its_event_is_not_believed(body: str) -> None:
    assert ended(body, "x") == RunFinished(Outcome(RunState.FAILED, Reason.ERROR, "x"))


def test_an_outcome_of_another_gateway_is_checked_member_by_member() -> None:
    body = '{"state":"failed","reason":"exited","exit_code":4294967296,"signal":1,"text":2}'
    assert ended(body, "x") == RunFinished(Outcome(RunState.FAILED, Reason.EXITED))
    body = '{"state":"failed","reason":"exited","exit_code":true}'
    assert ended(body) == RunFinished(Outcome(RunState.FAILED, Reason.EXITED))
