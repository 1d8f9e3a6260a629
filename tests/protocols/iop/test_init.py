"""The adapter as a whole."""

from __future__ import annotations

from fleetgate.protocols.checking import check_adapter
from fleetgate.protocols.iop import ADAPTER
from fleetgate.protocols.iop.testing import frames_for_edge, frames_for_node


def test_the_adapter_owes_the_driver_nothing() -> None:
    check_adapter(ADAPTER, north=frames_for_node(), south=frames_for_edge())
