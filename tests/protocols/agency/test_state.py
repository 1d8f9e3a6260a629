"""The tables: which message may come when, what answers what, since which minor."""

from typing import get_args

import pytest

from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency.state import (
    ANSWERS,
    CLIENT_MAY,
    SINCE,
    Phase,
    capabilities,
    knows,
    negotiate,
)

MESSAGES = set(get_args(wire.ClientMessage))


def test_hello_comes_first_and_once() -> None:
    assert CLIENT_MAY[Phase.NEW] == {wire.Hello}
    assert CLIENT_MAY[Phase.AGREED] == MESSAGES - {wire.Hello}
    assert CLIENT_MAY[Phase.OVER] == set()


def test_every_message_has_its_answers_and_an_error_is_always_one() -> None:
    assert set(ANSWERS) == MESSAGES
    assert all(wire.Error in answers and len(answers) == 2 for answers in ANSWERS.values())
    assert {kind for answers in ANSWERS.values() for kind in answers} == set(
        get_args(wire.ServerResponse)
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "agreed"),
    [(3, (0, 0), 0), (3, (0, 3), 3), (3, (0, 9), 3), (4, (0, 3), 3), (3, (1, 3), None)],
)
def test_the_lower_minor_of_one_major(
    ours: int, theirs: tuple[int, int], agreed: int | None
) -> None:
    assert negotiate(ours, wire.ProtocolVersion(*theirs)) == agreed


def test_capabilities_by_minor() -> None:
    assert [len(capabilities(minor)) for minor in range(5)] == [5, 5, 6, 6, 7]
    assert capabilities(4) == (
        "event_replay",
        "live_injection",
        "approvals",
        "cancellation",
        "session_interruption",
        "provider_detection",
        "lifecycle_control",
    )
    for minor in range(4):
        assert capabilities(minor) == tuple(
            name for name in capabilities(minor + 1) if name in capabilities(minor)
        )


def test_messages_by_minor() -> None:
    assert set(SINCE) <= MESSAGES
    stop = wire.Shutdown(wire.ShutdownMode.DRAIN)
    assert [knows(minor, stop) for minor in range(5)] == [False, False, False, True, True]
    assert knows(0, wire.ListRuns())
