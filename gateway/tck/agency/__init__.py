"""The kits of agency: a daemon is dialled, a client is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.gateway.tck.agency import (
    daemon_control,
    daemon_decoding,
    daemon_framing,
    daemon_hello,
    daemon_runs,
    daemon_whole,
)
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

KITS: Final[Mapping[str, Kit]] = {"daemon": _DAEMON}
