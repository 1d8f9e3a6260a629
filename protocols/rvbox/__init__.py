"""rvbox: a server dispatches shell commands to client daemons on hosts.

- *server*: asks for commands; our southbound connection plays it towards real daemons.
- *client*: the daemon on a host; our northbound connection plays it towards a real server.
- *command*: what a run of the core is called here, named by its `issue_uuid`.
- *dispatch*: the request for a command, told from others by its digest.
- *reconcile*: the comparison of what the server believes with what the client retains,
  at the start of each session and whenever something does not fit together.
- *tombstone*: what a client keeps of a command whose end was acknowledged.
"""

from __future__ import annotations

from typing import Final

from fleetgate.protocols.api import Adapter, Connection, Side
from fleetgate.protocols.carriage import met_by_dialling, met_by_listening
from fleetgate.protocols.rvbox import explain
from fleetgate.protocols.rvbox.settings import (
    ClientSettings,
    ServerSettings,
    client_carriage,
    server_carriage,
)
from fleetgate.protocols.rvbox.translate import INPUTS, with_expiry

# Each side is imported where one is opened: a fake, and most gateways, play only one.


def _client(settings: ClientSettings) -> Connection:
    from fleetgate.protocols.rvbox.northbound import ClientConnection

    return ClientConnection(settings)


def _server(settings: ServerSettings) -> Connection:
    from fleetgate.protocols.rvbox.southbound import ServerConnection

    return ServerConnection(settings)


ADAPTER: Final = Adapter(
    name="rvbox",
    northbound=Side(
        ClientSettings,
        _client,
        client_carriage,
        misplaced=met_by_dialling("a server listens"),
    ),
    southbound=Side(
        ServerSettings,
        _server,
        server_carriage,
        inputs=INPUTS,
        prepare=with_expiry,
        misplaced=met_by_listening("clients dial their server"),
    ),
    showing=explain.SHOWING,
)
