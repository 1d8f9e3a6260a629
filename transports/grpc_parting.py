"""The ways to be done with a transport of asyncio's. Nobody calls its own `close` or `abort`.

At a second `close` asyncio's TLS lets go of its protocol, and with it of the socket: `abort` has
nothing left that it could close, and raises for that on Python 3.11.2 (not on 3.11.7).
"""

from __future__ import annotations

from asyncio import Transport
from contextlib import suppress


def close(transport: Transport) -> None:
    """Close it behind what is on its way. Where that has begun, it goes on."""
    if not transport.is_closing():
        transport.close()


def abort(transport: Transport) -> None:
    """Close its socket at once. Where that is closed, nothing happens."""
    with suppress(AttributeError):
        transport.abort()
