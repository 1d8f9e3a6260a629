"""What an entry of the config and its protocol together ask of a transport."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Final

from fleetgate.gateway.config_entries import Entry, Grant, SecretUnreadable
from fleetgate.protocols.carriage import Carriage, GrpcUse, WebSocketUse
from fleetgate.transports.api import GrpcMethod, GrpcOptions, Opening, Options, Rejection

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
        any_text=socket.any_text if socket else False,
        drop_other=socket.drop_other if socket else False,
        path=socket.path if socket else "/",
        subprotocols=socket.subprotocols if socket else (),
        ping_every=socket.ping_every if socket else None,
        dead_after=socket.dead_after if socket else None,
        alive_by_pong=socket.alive_by_pong if socket else False,
        write_within=carriage.write_within,
        grpc=_grpc(carriage.grpc),
        headers=headers,
        authorize=_authorize(entry, socket, carriage.in_band),
    )


def _grpc(use: GrpcUse | None) -> GrpcOptions | None:
    """The same in the words of the transports."""
    if use is None:
        return None
    return GrpcOptions(
        calls={
            path: GrpcMethod(call.client_streams, call.server_streams)
            for path, call in use.calls.items()
        },
        dial=use.dial,
        descriptors=use.descriptors,
        final=use.final,
        ping_every=use.ping_every,
        pings_allowed_every=use.pings_allowed_every,
    )


def _authorize(
    entry: Entry, socket: WebSocketUse | None, in_band: bool
) -> Callable[[Opening], int | Rejection | None] | None:
    """Who is let in: as the entry's tokens say, and with the answers of the protocol."""
    if in_band:
        return None
    keeper = gatekeeper_of(entry, socket) if entry.tokens else None
    refuse = None if socket is None else socket.refuse
    if refuse is None:
        return None if keeper is None else keeper.authorize

    def judge(opening: Opening) -> Rejection | None:
        known = keeper is None or keeper.identify(opening.headers) is not None
        denial = refuse(opening.headers, known)
        if denial is None:
            return None if known else Rejection(UNAUTHORIZED)
        return Rejection(denial.status, denial.body, denial.headers)

    return judge


def gatekeeper_of(entry: Entry, socket: WebSocketUse | None) -> Gatekeeper:
    """Who reads the tokens that peers of this entry show."""
    shown = None if socket is None else socket.shown_token
    return Gatekeeper(entry.tokens, shown or bearer_token)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """The token behind the scheme Bearer."""
    value = headers.get("authorization", "")
    return value[len(_BEARER) :].strip() if value.lower().startswith(_BEARER) else None


class Gatekeeper:
    """Tells who a bearer token speaks for. Tokens are read anew at each try, and compared in
    constant time; a grant whose token cannot be read lets nobody in."""

    def __init__(
        self,
        grants: tuple[Grant, ...],
        shown: Callable[[Mapping[str, str]], str | None] = bearer_token,
    ) -> None:
        self._grants = grants
        self._shown = shown

    def shown(self, headers: Mapping[str, str]) -> str | None:
        """The token that a request shows, whoever's it is."""
        return self._shown(headers)

    def identify(self, headers: Mapping[str, str]) -> str | None:
        """The identity that the request's token proves; None for none."""
        token = self._shown(headers)
        return None if token is None else self.whose(token)

    def whose(self, token: str) -> str | None:
        """The identity that a token proves; None for none."""
        shown = token.encode("utf-8", "replace")
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
