"""Where the two links of a pair are: on the transports that `gateway serve` would use."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fleetgate.gateway.carrying import options_of
from fleetgate.gateway.config_entries import Entry, side_of
from fleetgate.gateway.demo.stage import free_port
from fleetgate.gateway.fidelity.bridge import LISTENING_WORKERS
from fleetgate.gateway.registry import adapters
from fleetgate.transports.api import Options

PROTOCOLS: Final = tuple(sorted(adapters(())))


def places_of(north: str, south: str, directory: Path) -> tuple[str, str]:
    """Free addresses for the upper and the lower link of a pair: sockets in `directory`, which
    must have a short path, and ports. Another process may take a port in between; the trial then
    fails and says so."""
    return _address(north, directory / "up.sock"), _address(south, directory / "down.sock")


def _address(protocol: str, path: Path) -> str:
    if protocol in LISTENING_WORKERS:
        return f"unix:{path}"
    side = adapters(())[protocol].southbound
    carriage = side.carriage(side.settings())
    if carriage.grpc is not None:
        return f"grpc://127.0.0.1:{free_port()}"
    assert carriage.websocket is not None
    return f"ws://127.0.0.1:{free_port()}{carriage.websocket.path}"


def carriage_of(entry: Entry) -> Options:
    """How the entry's links carry frames."""
    side = side_of(adapters(())[entry.protocol], entry.facing)
    return options_of(entry, side.carriage(entry.settings))
