"""Addresses as a config file writes them, and the places that they occupy."""

from __future__ import annotations

import re
from ipaddress import ip_address
from os.path import normpath
from pathlib import Path
from typing import Final, TypeAlias

import attrs

from fleetgate.transports.address import DEFAULT_PORTS

_UNIX: Final = "unix:"
_HOST: Final = r"(\[[^\]]*\]|[^:/\[\]]*)"
_HOST_PORT: Final = re.compile(rf"(?:[a-z]+:(?://)?)?{_HOST}:(\d+)(?:/.*)?", re.I)
_WEB_HOST: Final = re.compile(rf"(wss?)://{_HOST}(?:/.*)?", re.I)
ANY_HOST: Final = frozenset({"", "0.0.0.0", "::", "*"})
"""Hosts of listeners that are reached at whatever address this machine has."""


@attrs.frozen(slots=True)
class UnixPlace:
    """A socket file."""

    path: str


@attrs.frozen(slots=True)
class TcpPlace:
    """A port at a host; port 0 is any free one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at `host`: `localhost`, or an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


Place: TypeAlias = UnixPlace | TcpPlace | None
"""Where an address leads; None where that cannot be told."""


def place_of(address: str) -> Place:
    """Where an address leads to, whatever its scheme; None where that cannot be told."""
    if address.startswith(_UNIX):
        return UnixPlace(address.removeprefix(_UNIX).removeprefix("//"))
    if web := _WEB_HOST.fullmatch(address):
        host, port = web.group(2), DEFAULT_PORTS[web.group(1).lower()]
    elif (found := _HOST_PORT.fullmatch(address)) and int(found.group(2)) <= 65535:
        host, port = found.group(1), int(found.group(2))
    else:
        return None
    host = host.strip("[]").lower()
    return TcpPlace("127.0.0.1" if host == "localhost" else host, port)


def is_literal(host: str) -> bool:
    """Whether a `Host` header (with a port or without) names an address, or `localhost`: nobody
    else's word was asked for where it leads."""
    place = place_of(host) or place_of(f"{host}:0")
    if not isinstance(place, TcpPlace):
        return False
    try:
        ip_address(place.host)
    except ValueError:
        return False
    return True


def collide(one: Place, other: Place) -> bool:
    """Whether two listeners cannot have both places. Paths count as the same if they are so
    written out: `g/../g/s` is `g/s`."""
    if isinstance(one, TcpPlace) and isinstance(other, TcpPlace):
        if one.port == 0 or one.port != other.port:
            return False
        return one.host == other.host or bool({one.host, other.host} & ANY_HOST)
    if isinstance(one, UnixPlace) and isinstance(other, UnixPlace):
        return normpath(one.path) == normpath(other.path)
    return False


def resolve_path(text: str, base: Path) -> str:
    """A path in a file of the directory `base`: `~` is the user's home, and a relative path
    starts at `base`."""
    return str(base / Path(text).expanduser())


def resolve_address(address: str, base: Path) -> str:
    """The address with its path, if it has one, resolved."""
    if not address.startswith(_UNIX) or address == _UNIX:
        return address
    return _UNIX + resolve_path(address.removeprefix(_UNIX).removeprefix("//"), base)
