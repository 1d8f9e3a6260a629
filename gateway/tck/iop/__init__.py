"""The kits of iop: an edge is dialled, by nodes and by control clients; a node is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.gateway.tck.iop import edge_control, edge_link, edge_runs, node_link, node_runs
from fleetgate.gateway.tck.iop.edge import EdgeAttempt, EdgeGiven
from fleetgate.gateway.tck.iop.edge import carried as carried_to_edges
from fleetgate.gateway.tck.iop.node import NodeAttempt, NodeGiven
from fleetgate.gateway.tck.iop.node import carried as carried_to_nodes
from fleetgate.gateway.tck.requirement import Kit

_EDGE: Final = Kit(
    protocol="iop",
    side="edge",
    prefix="IOP-E",
    listens=True,
    options=carried_to_edges,
    given=EdgeGiven,
    attempt=EdgeAttempt,
    topics=(edge_link.TOPIC, edge_runs.TOPIC, edge_control.TOPIC),
)

_NODE: Final = Kit(
    protocol="iop",
    side="node",
    prefix="IOP-N",
    listens=False,
    options=carried_to_nodes,
    given=NodeGiven,
    attempt=NodeAttempt,
    topics=(node_link.TOPIC, node_runs.TOPIC),
)

KITS: Final[Mapping[str, Kit]] = {"edge": _EDGE, "node": _NODE}
