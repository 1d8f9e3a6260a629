"""`gateway fake agency-client`."""

from __future__ import annotations

from fleetgate.gateway.fakes.agency_client import make_parser
from fleetgate.protocols import agency


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    text = make_parser().format_help()
    squeezed = "".join(text.split())
    for name in agency.ADAPTER.southbound.settings.__annotations__:
        assert f"{name}=" in squeezed
