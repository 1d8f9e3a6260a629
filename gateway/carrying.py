"""What an entry of the config and its protocol together ask of a transport."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from fleetgate.core.errors import Unavailable
from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.places import is_literal
from fleetgate.gateway.tokens import Tokens
from fleetgate.protocols.carriage import Carriage, GrpcUse, WebSocketUse
from fleetgate.transports.address import DEFAULT_PORTS, GRPC, parse_address
from fleetgate.transports.api import (
    AddressError,
    GrpcMethod,
    GrpcOptions,
    Opening,
    Options,
    Rejection,
)

MEMORY: Final = "memory"
"""The scheme of links within a process, which carry whatever is put in them."""

UNAUTHORIZED: Final = 401
UNAVAILABLE: Final = 503
FORBIDDEN: Final = Rejection(403, b"web pages of other places are not let in")
_BEARER: Final = "bearer "

Judge: TypeAlias = Callable[[Opening], int | Rejection | None]
"""Answers an upgrade or a call: None lets it in."""


def options_of(entry: Entry, carriage: Carriage, gatekeeper: Gatekeeper | None = None) -> Options:
    """The transport options for an entry; its token is read now, for the next dial. `gatekeeper`:
    the entry's own, where it has one already.

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
        unoffered_final=socket.unoffered_final if socket else False,
        ping_every=socket.ping_every if socket else None,
        dead_after=socket.dead_after if socket else None,
        alive_by_pong=socket.alive_by_pong if socket else False,
        write_within=carriage.write_within,
        grpc=_grpc(carriage.grpc),
        headers=headers,
        authorize=_outside_of_pages(
            entry, socket, _authorize(entry, socket, carriage.in_band, gatekeeper)
        ),
    )


def check_carried(entry: Entry, carriage: Carriage) -> None:
    """Whether an entry's protocol is carried over what its address is of.

    Raises: `AddressError`, with what carries it.
    """
    scheme = parse_address(entry.address).scheme
    kind, carried = _kind(scheme, carriage)
    if not carried:
        raise AddressError(f"{entry.protocol} is not carried over {kind}; use {_ways(carriage)}")


def _kind(scheme: str, carriage: Carriage) -> tuple[str, bool]:
    """What a scheme is of, and whether the protocol is carried so."""
    if scheme in DEFAULT_PORTS:
        return "WebSocket", carriage.websocket is not None
    if scheme in GRPC:
        return "gRPC", carriage.grpc is not None
    if scheme == MEMORY:
        return "memory", True
    return "a stream of bytes", carriage.stream is not None


def _ways(carriage: Carriage) -> str:
    ways = ["unix:", "tcp:", "tls:"] if carriage.stream is not None else []
    ways += ["ws:", "wss:"] if carriage.websocket is not None else []
    ways += ["grpc:", "grpcs:"] if carriage.grpc is not None else []
    return f"{', '.join(ways[:-1])} or {ways[-1]}"


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


def _outside_of_pages(
    entry: Entry, socket: WebSocketUse | None, judge: Judge | None
) -> Judge | None:
    """The same, and no web page is let in. Browsers let every page open a WebSocket to loopback,
    and show the certificate of whoever sits before them: as a worker it would be given runs."""
    if socket is None or socket.pages or not entry.listens:
        return judge
    verified = entry.tls is not None

    def guard(opening: Opening) -> int | Rejection | None:
        if is_foreign_page(opening.headers, verified):
            return FORBIDDEN
        return None if judge is None else judge(opening)

    return guard


def is_foreign_page(headers: Mapping[str, str], verified: bool) -> bool:
    """Whether a request comes from a web page of another origin. Some clients that are no browsers
    name the address that they dial as theirs. A name that was made to point here does that, too,
    and so counts only where TLS has `verified` it."""
    origin, host = headers.get("origin"), headers.get("host", "").lower()
    if origin is None:
        return False
    try:
        same = urlsplit(origin).netloc.lower() == host
    except ValueError:
        return True
    return not same or not (verified or is_literal(host))


def _authorize(
    entry: Entry, socket: WebSocketUse | None, in_band: bool, gatekeeper: Gatekeeper | None
) -> Judge | None:
    """Who is let in: as the entry's tokens say, and with the answers of the protocol."""
    if in_band:
        return None
    keeper = (gatekeeper or gatekeeper_of(entry, socket)) if entry.tokens else None
    refuse = None if socket is None else socket.refuse
    if refuse is None:
        return None if keeper is None else keeper.authorize

    def judge(opening: Opening) -> int | Rejection | None:
        verdict = None if keeper is None else keeper.authorize(opening)
        if verdict == UNAVAILABLE:
            return verdict
        known = verdict is None
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
    """Tells who a request speaks for, by the token that it shows (`Tokens`)."""

    __slots__ = ("_shown", "_tokens")

    def __init__(
        self,
        grants: tuple[Grant, ...],
        shown: Callable[[Mapping[str, str]], str | None] = bearer_token,
    ) -> None:
        # Whoever dials grants nothing, and may be thousands of entries.
        self._tokens = Tokens(grants) if grants else None
        self._shown = shown

    def shown(self, headers: Mapping[str, str]) -> str | None:
        """The token that a request shows, whoever's it is."""
        return self._shown(headers)

    def identify(self, headers: Mapping[str, str]) -> str | None:
        """The identity that the request's token proves; None for none. Raises: `Unavailable`."""
        token = self._shown(headers)
        return None if token is None else self.whose(token)

    def whose(self, token: str) -> str | None:
        """The identity that a token proves; None for none. Raises: `Unavailable`."""
        return None if self._tokens is None else self._tokens.whose(token)

    def authorize(self, opening: Opening) -> int | None:
        """The HTTP status that refuses an upgrade, or None to go on."""
        try:
            return None if self.identify(opening.headers) is not None else UNAUTHORIZED
        except Unavailable:
            return UNAVAILABLE
