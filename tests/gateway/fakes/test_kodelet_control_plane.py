"""`gateway fake kodelet-control-plane`."""

from __future__ import annotations

from fleetgate.gateway.fakes.kodelet_control_plane import make_parser
from fleetgate.protocols import kodelet


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    squeezed = "".join(make_parser().format_help().split())
    for name in kodelet.ADAPTER.southbound.settings.__annotations__:
        assert f"{name}=" in squeezed


def test_times_are_given_in_milliseconds() -> None:
    words = ["--listen", "h:0", "--heartbeat-ms", "1500", "--lease-grace-ms", "20"]
    arguments = make_parser().parse_args(words)
    assert (arguments.heartbeat_ms, arguments.lease_grace_ms) == (1.5, 0.02)
    assert arguments.heartbeat_timeout_ms is None
