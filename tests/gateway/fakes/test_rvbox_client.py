"""`gateway fake rvbox-client`."""

from __future__ import annotations

from fleetgate.gateway.fakes.rvbox_client import make_parser
from fleetgate.protocols import rvbox


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    squeezed = "".join(make_parser().format_help().split())
    for name in rvbox.ADAPTER.northbound.settings.__annotations__:
        assert f"{name}=" in squeezed


def test_room_for_commands_has_the_protocols_own_defaults() -> None:
    words = ["--connect", "ws://h/agent", "--client-id", "h", "--state", "d", "--exec"]
    arguments = make_parser().parse_args(words)
    settings = rvbox.ADAPTER.northbound.settings()
    assert (arguments.max_running, arguments.max_queued) == (
        settings.max_running,
        settings.max_queued,
    )
