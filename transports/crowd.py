"""How many of something there are, in all and from one place, so that no one place has them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

import trio

from fleetgate.transports.api import LinkBroken

NETWORK: Final = 64
"""Leading bits of an IPv6 address that count as one place: whoever has one address there has the
whole network (RFC 6177)."""


_OF_THE_NETWORK: Final = (trio.socket.AF_INET, trio.socket.AF_INET6)


class Crowd:
    """`most` in all, `most_each` from one place. `what` they are is for the words of a refusal.
    A place that is empty is nobody's: only the whole counts."""

    def __init__(self, what: str, most: int, most_each: int) -> None:
        self._what = what
        self._most = most
        self._most_each = most_each
        self._from: Counter[str] = Counter()
        self.count = 0
        """In all."""

    def refusal(self, place: str, more: int = 0) -> LinkBroken | None:
        """Why one more, beside `more` that are about to come, is too many; None where it is not."""
        if self.count + more >= self._most:
            return LinkBroken(f"there are {self._most} {self._what}")
        if place and self._from[place] + more >= self._most_each:
            return LinkBroken(f"there are {self._most_each} {self._what} from {place}")
        return None

    @contextmanager
    def one(self, place: str) -> Generator[None, None, None]:
        """One is there for as long as the block."""
        self.count += 1
        self._from[place] += 1
        try:
            yield
        finally:
            self.count -= 1
            self._from[place] -= 1
            if not self._from[place]:
                del self._from[place]


def place_of(stream: trio.SocketStream) -> str:
    """Where a stream's peer is: its IPv4 address, or the network of its IPv6 address; empty where
    it has none, as at a Unix socket, or has gone."""
    try:
        name: Any = stream.socket.getpeername()
    except OSError:
        return ""
    return place(str(name[0])) if stream.socket.family in _OF_THE_NETWORK else ""


def place(host: str) -> str:
    """The place of an address."""
    address = ip_address(host.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    bits = 128 - NETWORK
    return f"{IPv6Address(int(address) >> bits << bits)}/{NETWORK}"
