"""Which message may come when: a table, and it does not know our role."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Any, Final, get_args

from fleetgate.protocols.iop import wire as w


@unique
class Phase(Enum):
    """Where a link is."""

    NEW = "new"
    """The node has not been let in."""
    ADMITTING = "admitting"
    """It has shown its token, and the core is asked."""
    LIVE = "live"
    """Registered: either side may say anything."""
    OVER = "over"


_NODE: Final = frozenset(get_args(w.NodePayload))
_EDGE: Final = frozenset(get_args(w.EdgePayload))

NODE_MAY: Final[Mapping[Phase, frozenset[type[Any]]]] = MappingProxyType(
    {
        Phase.NEW: frozenset({w.RegisterRequest}),
        Phase.ADMITTING: frozenset(),
        Phase.LIVE: _NODE - {w.RegisterRequest},
        Phase.OVER: frozenset(),
    }
)
"""What a node may say. While it is being admitted nothing is read."""

EDGE_MAY: Final[Mapping[Phase, frozenset[type[Any]]]] = MappingProxyType(
    {
        Phase.NEW: frozenset({w.RegisterResponse, w.Error, w.Heartbeat}),
        Phase.LIVE: _EDGE - {w.RegisterResponse},
        Phase.OVER: frozenset(),
    }
)
"""What an edge may say. Before its answer it may say why there is none."""
