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
from fleetgate.protocols.agency import explain
from fleetgate.protocols.agency.carriage import client_carriage, daemon_carriage
from fleetgate.protocols.agency.settings import (
    AgencyNorthboundSettings,
    AgencySouthboundSettings,
)
from fleetgate.protocols.api import Adapter, Connection, Side
from fleetgate.protocols.carriage import met_by_dialling, met_by_listening

# Each side is imported where one is opened: a fake, and most gateways, play only one.


def _daemon(settings: AgencyNorthboundSettings) -> Connection:
    from fleetgate.protocols.agency.door import Door

    return Door(settings)


def _client(settings: AgencySouthboundSettings) -> Connection:
    from fleetgate.protocols.agency.southbound import AgencySouthbound

    return AgencySouthbound(settings)


ADAPTER: Final = Adapter(
    "agency",
    northbound=Side(
        AgencyNorthboundSettings,
        _daemon,
        daemon_carriage,
        misplaced=met_by_listening("clients dial their daemon"),
    ),
    southbound=Side(
        AgencySouthboundSettings,
        _client,
        client_carriage,
        inputs=frozenset({InputKind.PROMPT}),
        misplaced=met_by_dialling("a daemon listens"),
    ),
    showing=explain.SHOWING,
)
