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

from fleetgate.core.worker import InputKind
from fleetgate.protocols.api import Adapter, Side
from fleetgate.protocols.rvbox import explain
from fleetgate.protocols.rvbox.northbound import ClientConnection
from fleetgate.protocols.rvbox.settings import (
    ClientSettings,
    ServerSettings,
    client_carriage,
    server_carriage,
)
from fleetgate.protocols.rvbox.southbound import ServerConnection
from fleetgate.protocols.rvbox.translate import with_expiry

ADAPTER: Final = Adapter(
    name="rvbox",
    northbound=Side(ClientSettings, ClientConnection, client_carriage),
    southbound=Side(
        ServerSettings,
        ServerConnection,
        server_carriage,
        inputs=frozenset({InputKind.SHELL}),
        prepare=with_expiry,
    ),
    showing=explain.SHOWING,
)
