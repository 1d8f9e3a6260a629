"""Bends of link messages, for tests of the kits: those of one kind do not arrive."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.tck.testing import Change

REGISTERED: Final = 1
HEARTBEAT: Final = 2
CANCEL: Final = 4
"""Numbers of the payloads in their oneof (`iop/link.proto`)."""

_LENGTH_DELIMITED: Final = 2


def leave_out(number: int) -> Change:
    """Messages whose payload has this number do not arrive."""
    first = bytes([number << 3 | _LENGTH_DELIMITED])
    return lambda frame: () if frame[:1] == first else (frame,)
