"""Settings: defaults that need nothing, values that make no sense refused."""

from typing import Any

import pytest

from fleetgate.protocols.agency.settings import (
    AgencyNorthboundSettings,
    AgencySouthboundSettings,
)


def test_the_defaults_are_the_genuine_figures() -> None:
    assert AgencyNorthboundSettings().replay_bound == 2048
    assert AgencyNorthboundSettings().version_minor == 3
    assert AgencySouthboundSettings().framing == "frames"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version_minor", 0),
        ("version_minor", 5),
        ("replay_bound", -1),
        ("hello_timeout", 0),
        ("run_id_limit", 0),
        ("lookback", -1),
    ],
)
def test_northbound_refuses(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        AgencyNorthboundSettings(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("framing", "websocket"),
        ("version_minor", 9),
        ("ack_every", 0),
        ("ack_delay", -0.1),
        ("hello_timeout", 0),
        ("request_timeout", 0.0),
        ("suspect_after", 0),
        ("give_up_after", 3),
        ("suspect_poll", 0),
    ],
)
def test_southbound_refuses(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        AgencySouthboundSettings(**{name: value})
