"""The kits of agency: a daemon is dialled, a client is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.gateway.tck.agency import (
    client_frames,
    client_hello,
    client_runs,
    daemon_control,
    daemon_decoding,
    daemon_framing,
    daemon_hello,
    daemon_runs,
    daemon_whole,
)
from fleetgate.gateway.tck.agency.client import ClientAttempt, ClientGiven
from fleetgate.gateway.tck.agency.client import carried as carried_to_clients
from fleetgate.gateway.tck.agency.daemon import DaemonAttempt, DaemonGiven
from fleetgate.gateway.tck.agency.talk import carried
from fleetgate.gateway.tck.requirement import Kit

_DAEMON: Final = Kit(
    protocol="agency",
    side="daemon",
    prefix="AGENCY-D",
    listens=True,
    options=carried,
    given=DaemonGiven,
    attempt=DaemonAttempt,
    topics=(
        daemon_framing.TOPIC,
        daemon_hello.TOPIC,
        daemon_decoding.TOPIC,
        daemon_runs.TOPIC,
        daemon_control.TOPIC,
        daemon_whole.TOPIC,
    ),
)

_CLIENT: Final = Kit(
    protocol="agency",
    side="client",
    prefix="AGENCY-C",
    listens=False,
    options=carried_to_clients,
    given=ClientGiven,
    attempt=ClientAttempt,
    topics=(client_hello.TOPIC, client_frames.TOPIC, client_runs.TOPIC),
    wants=("run", "send", "approve", "cancel"),
)

KITS: Final[Mapping[str, Kit]] = {"daemon": _DAEMON, "client": _CLIENT}
