"""How the two links of every trial carry frames: as `gateway serve` carries them."""

from __future__ import annotations

from typing import Final

from fleetgate.protocols.agency.wire import MAX_FRAME
from fleetgate.protocols.rvbox.limits import FRAME
from fleetgate.transports.api import Options

CLIENT: Final = Options(framing="kind", limit=MAX_FRAME)
"""The agency side: a Unix socket, each frame behind its length and a kind byte."""

HOST: Final = Options(binary=True, path="/agent", limit=FRAME, subprotocols=("rvbox.v1",))
"""The rvbox side: one binary WebSocket message a frame."""

TEXT: Final = b"\x00"
"""The kind byte that every frame of the agency side begins with."""
