"""What an entry of the config and its protocol together ask of a transport."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

from fleetgate.gateway.config_entries import Entry, Grant, SecretUnreadable
from fleetgate.protocols.api import Carriage
from fleetgate.transports.api import Opening, Options

UNAUTHORIZED: Final = 401
_BEARER: Final = "bearer "


def options_of(entry: Entry, carriage: Carriage) -> Options:
    """The transport options for an entry; its token is read now, for the next dial.

    Raises: `SecretUnreadable`.
    """
    socket = carriage.websocket
    headers = {} if entry.token is None else {"authorization": f"Bearer {entry.token.read()}"}
    return Options(
        framing=carriage.stream or "",
        limit=carriage.limit,
        tls=entry.tls,
        binary=socket.binary if socket else True,
        path=socket.path if socket else "/",
        subprotocols=socket.subprotocols if socket else (),
        ping_every=socket.ping_every if socket else None,
        dead_after=socket.dead_after if socket else None,
        headers=headers,
        authorize=Gatekeeper(entry.tokens).authorize if entry.tokens else None,
    )


class Gatekeeper:
    """Tells who a bearer token speaks for. Tokens are read anew at each try, and compared in
    constant time; a grant whose token cannot be read lets nobody in."""

    def __init__(self, grants: tuple[Grant, ...]) -> None:
        self._grants = grants

    def identify(self, headers: Mapping[str, str]) -> str | None:
        """The identity that the request's token proves; None for none."""
        value = headers.get("authorization", "")
        if not value.lower().startswith(_BEARER):
            return None
        shown = value[len(_BEARER) :].strip().encode()
        found: str | None = None
        for grant in self._grants:
            try:
                expected = grant.token.read().encode()
            except SecretUnreadable:
                continue
            if hmac.compare_digest(shown, expected) and found is None:
                found = grant.id
        return found

    def authorize(self, opening: Opening) -> int | None:
        """The HTTP status that refuses an upgrade, or None to go on."""
        return None if self.identify(opening.headers) is not None else UNAUTHORIZED
