"""The events of a run: one class for each name of section 3.3."""

from typing import get_args

from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.encode import encode_event
from fleetgate.protocols.agency.testing import EVENTS

NAMES = [
    "finished",
    "failed",
    "state_changed",
    "session_opened",
    "reasoning",
    "text",
    "message_boundary",
    "tool_call",
    "tool_result",
    "approval_requested",
    "usage",
    "rate_limit",
    "compaction",
    "commands",
    "error",
]


def test_every_event_of_the_protocol_is_there() -> None:
    kinds = get_args(w.RunEvent)
    assert len(kinds) == len(NAMES)
    assert {type(event) for event in EVENTS} == set(kinds)
    written = {encode_event("r", 1, event).split(b'"type":"')[1].split(b'"')[0] for event in EVENTS}
    assert {name.decode() for name in written} == set(NAMES)


def test_what_is_not_understood_is_no_event_to_send() -> None:
    assert w.UnknownEvent not in get_args(w.RunEvent)
    assert set(get_args(w.ServerFrame)) == {wire.Response, w.EventFrame}
