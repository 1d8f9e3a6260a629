"""What carries this protocol (section 2), without what is said on it: for who only looks."""

from __future__ import annotations

from collections.abc import Mapping

from fleetgate.protocols.agency.settings import (
    AgencyNorthboundSettings,
    AgencySouthboundSettings,
)
from fleetgate.protocols.agency.wire import MAX_FRAME
from fleetgate.protocols.carriage import Carriage, WebSocketUse


def daemon_carriage(settings: AgencyNorthboundSettings) -> Carriage:
    """Both framings, told apart by the first byte; strict parity refuses lines. And text on a
    WebSocket, whose clients show a key among the subprotocols that they offer."""
    use = WebSocketUse(
        binary=False,
        path="/",
        subprotocols=("*",),
        loopback=True,
        shown_token=_shown_key,
        pages=True,
    )
    stream = "kind" if settings.strict_parity else "kind_or_lines"
    return Carriage(stream, MAX_FRAME, use, in_band=True)


def _shown_key(headers: Mapping[str, str]) -> str | None:
    from fleetgate.protocols.agency.mcp import key_of  # who only looks needs no MCP

    return key_of(headers.get("sec-websocket-protocol", ""))


def client_carriage(settings: AgencySouthboundSettings) -> Carriage:
    """The published framing, or the foundation's lines."""
    return Carriage("lines" if settings.framing == "lines" else "kind", MAX_FRAME)
