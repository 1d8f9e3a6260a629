"""What a protocol asks of the carriage of its frames, in builtins.

The driver's room turns it into a transport's options: protocols know no transport.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from fleetgate.core.json import NOTHING
from fleetgate.core.values import value


@value
class Denial:
    """An HTTP answer to an upgrade, in place of a link."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = NOTHING


@value
class WebSocketUse:
    """How a protocol uses WebSocket: one frame a message. `ping_every` and `dead_after`
    are seconds (None: no pings). `alive_by_pong`: only a pong is a sign of life, and not any byte.
    `any_text`: a text message need not be UTF-8, for its reader sees to that. `drop_other`: a
    message of the other kind ends the link without a word.

    The first of `subprotocols` that a client offers is agreed on; `"*"` stands for any.
    `unoffered_final`: a server that selects another than was offered is not dialled again.
    `loopback`: nobody but this machine is let in. `shown_token` finds the token in a request's
    headers (lower-case names) where the protocol knows other forms than Bearer. `refuse` answers an
    upgrade, given the headers and whether the entry's tokens let the peer in (None: let it in).
    `pages`: web pages may come in too, as far as the protocol itself lets them; else none may whose
    origin is not the listener.
    """

    binary: bool
    path: str
    subprotocols: tuple[str, ...] = ()
    unoffered_final: bool = False
    ping_every: float | None = None
    dead_after: float | None = None
    alive_by_pong: bool = False
    any_text: bool = False
    drop_other: bool = False
    shown_token: Callable[[Mapping[str, str]], str | None] | None = None
    refuse: Callable[[Mapping[str, str], bool], Denial | None] | None = None
    loopback: bool = False
    pages: bool = False


@value
class GrpcCall:
    """One method of a gRPC service: whether its client, and its server, send any number of
    messages or exactly one."""

    client_streams: bool
    server_streams: bool


@value
class GrpcUse:
    """How a protocol uses gRPC: each call is a link of its own, a frame is one message, and
    `Opening.path` is the call's path (`/package.Service/Method`).

    `calls`: the methods that a listener serves. `dial`: the call that a dialler makes.
    `descriptors`: serialized `FileDescriptorProto`s for reflection, each behind those it
    imports. `final`: the statuses after which the dialler does not try again. `ping_every`:
    seconds between our pings as a client (None: no pings). `pings_allowed_every`: seconds
    between a client's pings that our server puts up with.
    """

    calls: Mapping[str, GrpcCall]
    dial: str
    descriptors: tuple[bytes, ...] = attrs.field(default=(), repr=False)
    final: frozenset[int] = frozenset()
    ping_every: float | None = 300.0
    pings_allowed_every: float = 10.0


@value
class Redial:
    """How long a dialler waits before it tries again, in seconds: `first`, doubled with each
    failure up to `cap`. `jitter` draws from nothing up to that, so that a fleet does not come back
    in one second; a protocol that says otherwise goes without."""

    first: float = 1.0
    cap: float = 30.0
    jitter: bool = True


@value
class Carriage:
    """How a protocol's frames are carried. `stream` names a framing of
    `fleetgate.transports.framing` for byte streams (a test proves that it exists), None if
    streams do not carry it. `limit` is the largest frame in bytes, both ways. `in_band`: tokens
    are shown in messages, and the connection judges them (`Opening.identify`); the carriage
    then lets everybody in. `write_within`: seconds that the write of one frame may take before the
    peer counts as gone (None: as the driver has it)."""

    stream: str | None
    limit: int
    websocket: WebSocketUse | None = None
    grpc: GrpcUse | None = None
    in_band: bool = False
    redial: Redial = Redial()
    write_within: float | None = None


Misplaced: TypeAlias = Callable[[Any, str, bool], str]
"""Given an entry's settings, the scheme of its address and whether it listens there: why it could
meet nobody so, and what to write instead. Empty: it could."""

_NO_WAY_ROUND: Final = ("stdio",)
"""Where it is all one who dials."""


def met_by_listening(who: str) -> Misplaced:
    """For a side whose peers, in the protocol's words, dial it."""

    def misplaced(settings: Any, scheme: str, listens: bool) -> str:
        if listens or scheme in _NO_WAY_ROUND:
            return ""
        return f"{who}, and nobody is there to be dialled; use listen, and have them dial that"

    return misplaced


def met_by_dialling(who: str) -> Misplaced:
    """For a side whose peers, in the protocol's words, listen."""

    def misplaced(settings: Any, scheme: str, listens: bool) -> str:
        if not listens or scheme in _NO_WAY_ROUND:
            return ""
        return f"{who}, so nobody comes in here; use connect, with the address where it listens"

    return misplaced
