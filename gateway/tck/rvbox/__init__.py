"""The kits of rvbox: a client, which is a host's daemon, is waited for; a server is dialled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.gateway.tck.requirement import Kit
from fleetgate.gateway.tck.rvbox import (
    client_commands,
    client_control,
    client_dialling,
    client_keeping,
    client_scripts,
    client_session,
    server_commands,
    server_keeping,
    server_session,
)
from fleetgate.gateway.tck.rvbox.client import ServerAttempt, ServerGiven
from fleetgate.gateway.tck.rvbox.client import carried as carried_to_servers
from fleetgate.gateway.tck.rvbox.host import HostAttempt, HostGiven, carried

_CLIENT: Final = Kit(
    protocol="rvbox",
    side="client",
    prefix="RVBOX-C",
    listens=False,
    options=carried,
    given=HostGiven,
    attempt=HostAttempt,
    topics=(
        client_session.TOPIC,
        client_commands.TOPIC,
        client_control.TOPIC,
        client_keeping.TOPIC,
        client_scripts.TOPIC,
        client_dialling.TOPIC,
    ),
)

_SERVER: Final = Kit(
    protocol="rvbox",
    side="server",
    prefix="RVBOX-S",
    listens=True,
    options=carried_to_servers,
    given=ServerGiven,
    attempt=ServerAttempt,
    topics=(server_session.TOPIC, server_commands.TOPIC, server_keeping.TOPIC),
    wants=("run", "cancel", "send"),
)

KITS: Final[Mapping[str, Kit]] = {"client": _CLIENT, "server": _SERVER}
