"""The rules of pings, for either end. Time is an argument: seconds of trio's clock."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

STRIKES: Final = 2
"""Pings that come too early before the peer is sent away, as gRPC's own servers count: one more
is no clock that runs a little fast."""

TOO_MANY: Final = b"too_many_pings"
"""What a server says when it sends a client away for it; clients know these words."""

PATIENCE: Final = 1024
"""Servers of which is kept how often they want pings; the one unheard of longest is forgotten,
and may send us away once more."""


class PingWatch:
    """How a server judges its client's pings.

    A ping after data that we sent is never too early: clients measure the path by it.
    """

    def __init__(self, allowed_every: float) -> None:
        self._allowed_every = allowed_every
        self._last: float | None = None
        self._strikes = 0

    def spoke(self) -> None:
        """We sent headers or data."""
        self._last = None
        self._strikes = 0

    def pinged(self, now: float) -> bool:
        """A ping came. Whether that is still to be borne."""
        last, self._last = self._last, now
        if last is not None and now - last < self._allowed_every:
            self._strikes += 1
        return self._strikes <= STRIKES


class Patience:
    """How often a client pings a server: as it is set, and half as often after each time that the
    server found it too often."""

    def __init__(self) -> None:
        self._factors: OrderedDict[str, int] = OrderedDict()

    def interval(self, server: str, ping_every: float) -> float:
        """Seconds between pings."""
        return ping_every * self._factors.get(server, 1)

    def sent_away(self, server: str) -> None:
        """The server ended the connection with `too_many_pings`."""
        self._factors[server] = self._factors.get(server, 1) * 2
        self._factors.move_to_end(server)
        if len(self._factors) > PATIENCE:
            self._factors.popitem(last=False)
