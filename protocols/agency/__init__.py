"""AgencyProxy, protocol 0.3 (0.1c to 0.4 spoken): a client and a daemon that runs agents.

daemon
    Owns runs and numbers their events. Northbound we are one.
client
    Starts, watches and steers them; several may share a run. Southbound we are one.
attachment
    A connection's subscription to one run, from a sequence on.
capability
    A name in hello. Peers before us die of names that they do not know.
"""

from __future__ import annotations

from typing import Final

from fleetgate.core.worker import InputKind
from fleetgate.protocols.agency import door, explain, southbound
from fleetgate.protocols.agency.settings import (
    AgencyNorthboundSettings,
    AgencySouthboundSettings,
)
from fleetgate.protocols.api import Adapter, Side

ADAPTER: Final = Adapter(
    "agency",
    northbound=Side(AgencyNorthboundSettings, door.Door, door.carriage),
    southbound=Side(
        AgencySouthboundSettings,
        southbound.AgencySouthbound,
        southbound.carriage,
        inputs=frozenset({InputKind.PROMPT}),
    ),
    showing=explain.SHOWING,
)
