"""Who beyond this machine may come to an entry's listener without showing who they are."""

from __future__ import annotations

from typing import Final

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.places import TcpPlace, place_of

ENCRYPTED: Final = frozenset({"wss", "tls", "grpcs"})


def is_remote(entry: Entry) -> bool:
    """Whether the entry's address is, or is reached from, beyond this machine. A name counts as
    one that is: what it stands for may change while we listen."""
    place = place_of(entry.address)
    return isinstance(place, TcpPlace) and not place.loopback


def certified(entry: Entry) -> bool:
    """Whether the entry's listener asks for a certificate."""
    return entry.listens and entry.tls is not None and entry.tls.ca is not None


def asks_nobody(entry: Entry) -> bool:
    """Whether the entry's listener lets in whoever reaches it: no token and no certificate is
    asked for."""
    return entry.listens and not entry.tokens and not certified(entry)


def is_encrypted(entry: Entry) -> bool:
    """Whether nobody on the way can read what crosses its links."""
    return entry.address.partition(":")[0].lower() in ENCRYPTED
