"""iop: nodes that execute, edges that ask; protobuf over gRPC, streams or WebSocket.

edge
    Owns nodes and asks them. Southbound we are one.
node
    Executes runs. It dials its edge and shows a token; northbound, where we dial, we are one.
link
    One stream between a node and its edge, for as long as it lasts.
control client
    Asks an edge for runs by calls of EdgeControl. Each call is a link of its own. We serve them
    where we listen northbound, and beside the nodes of an edge where that is set.
adapter, target
    What executes a run at a node, and which of it: a program's profile, a model.
config push
    What an edge sets at a node with its registration.
"""

from __future__ import annotations

from typing import Final

from fleetgate.protocols.api import Adapter, Connection, Side
from fleetgate.protocols.iop import explain
from fleetgate.protocols.iop.control import ControlCall, Either, InFlight
from fleetgate.protocols.iop.settings import (
    ANYBODY,
    EdgeSettings,
    NorthSettings,
    edge_carriage,
    edge_misplaced,
    north_carriage,
    north_misplaced,
)
from fleetgate.protocols.iop.translate import INPUTS

_IN_FLIGHT: Final = InFlight()

# Each side is imported where one is opened: a fake, and most gateways, play only one.


def _north(settings: NorthSettings) -> Connection:
    from fleetgate.protocols.iop.northbound import NodeConnection

    return Either(NodeConnection(settings), ControlCall(settings, (ANYBODY,), _IN_FLIGHT))


def _south(settings: EdgeSettings) -> Connection:
    from fleetgate.protocols.iop.southbound import EdgeConnection

    call = ControlCall(settings, settings.controllers, _IN_FLIGHT)
    return Either(EdgeConnection(settings), call)


def _denies(settings: NorthSettings | EdgeSettings) -> bool:
    return settings.deny_approvals


def _serves_control(settings: EdgeSettings) -> bool:
    return settings.control


ADAPTER: Final = Adapter(
    "iop",
    northbound=Side(
        NorthSettings, _north, north_carriage, denies=_denies, misplaced=north_misplaced
    ),
    southbound=Side(
        EdgeSettings,
        _south,
        edge_carriage,
        inputs=INPUTS,
        asks=_serves_control,
        denies=_denies,
        decisions=False,
        misplaced=edge_misplaced,
    ),
    showing=explain.SHOWING,
)
