"""The adapter as a whole."""

from __future__ import annotations

from typing import Any

from fleetgate.protocols.api import Close, Connection, Opening
from fleetgate.protocols.checking import check_adapter
from fleetgate.protocols.iop import ADAPTER
from fleetgate.protocols.iop.settings import EdgeSettings, NorthSettings
from fleetgate.protocols.iop.testing import frames_for_edge, frames_for_node

KNOWN: dict[str, Any] = {
    "path": "/iop.EdgeControl/WatchNodes",
    "guarded": True,
    "headers": {"authorization": "Bearer t"},
    "identify": {"t": "n1"}.get,
}


def refused(connection: Connection) -> bool:
    """Whether a call with the token of `n1` is refused."""
    steps = connection.opened(Opening("pool", **KNOWN), 1)
    return any(isinstance(step, Close) and step.status == 16 for step in steps)


def test_who_may_control() -> None:
    assert not refused(ADAPTER.northbound.open(NorthSettings()))
    assert refused(ADAPTER.southbound.open(EdgeSettings(control=True)))
    for controllers in (("n1",), ("*",)):
        settings = EdgeSettings(control=True, controllers=controllers)
        assert not refused(ADAPTER.southbound.open(settings))


def test_the_adapter_owes_the_driver_nothing() -> None:
    check_adapter(ADAPTER, north=frames_for_node(), south=frames_for_edge())
