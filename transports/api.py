"""What a transport offers: links that carry frames.

A frame is the bytes of one message. A link never looks inside one, never retries and
never logs one. This room imports nothing of ours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import attrs
import trio

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})

ABNORMAL_CLOSURE: Final = 1006
"""RFC 6455, 7.1.5: what a carriage with close codes says of a link that ended without one. It never
crosses a wire, so nobody can close a link with it."""


@attrs.frozen(slots=True)
class Opening:
    """What is known of the peer when a link opens, in builtins.

    `headers` have lower-case names (WebSocket and gRPC). `identities` are verified names: the
    peer certificate's CN and SANs; `expires` is when that certificate ends (Unix seconds).
    `subprotocol` is the one that was agreed.
    """

    peer: str = ""
    path: str = ""
    headers: Mapping[str, str] = attrs.field(default=NO_HEADERS, repr=False)
    identities: tuple[str, ...] = ()
    subprotocol: str | None = None
    expires: float | None = None


@attrs.frozen(slots=True)
class LinkStatistics:
    """Bytes and frames that have crossed, and when the last byte did (trio's clock)."""

    bytes_in: int = 0
    bytes_out: int = 0
    frames_in: int = 0
    frames_out: int = 0
    last_in: float | None = None
    last_out: float | None = None


class LinkError(Exception):
    """A link ended or cannot be had. Never raised itself."""


class PeerClosed(trio.EndOfChannel):
    """The peer closed in order, and its carriage has words for that. `reason` is the peer's own and
    may hold anything: it is for whoever passes it on, and never for a log."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__()
        self.code = code
        self.reason = reason


class LinkClosed(LinkError):
    """We closed it."""


class LinkBroken(LinkError):
    """The peer, or the network, ended it other than by closing it, or sent what is no frame.
    `code` is the close code sent or received, or a gRPC status, where the carriage has one.
    `final`: dialling again is of no use, as `GrpcOptions.final` says. `too_long`: what came on a
    stream is above the limit (True) or is no frame at all (False), and the link can still be sent
    on; None: it is about no frame. `no_frame`: what came is no frame, or one above the limit, and
    the message says why in our own words, which repeat nothing of it. `reason`: the peer's own
    words beside the code, as in `PeerClosed`."""

    def __init__(
        self,
        message: str,
        code: int | None = None,
        *,
        final: bool = False,
        too_long: bool | None = None,
        no_frame: bool = False,
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.final = final
        self.too_long = too_long
        self.no_frame = no_frame or too_long is not None
        self.reason = reason


class FrameRefused(LinkError):
    """The carriage has no form for a frame to send: a newline inside a line, no UTF-8 in a
    text message. Nothing was sent; the link is as before."""


class FrameTooLong(FrameRefused):
    """A frame to send is above the link's limit. Nothing was sent; the link is as before."""


class Pack(tuple[bytes, ...]):
    """Frames in order that several links are sent. `carried` is for what a link makes of them that
    others would make as well, under a key that names all that it depends on beside them. `size`:
    their bytes."""

    def __init__(self, iterable: Iterable[bytes] = (), /) -> None:
        self.size = sum(map(len, self))
        self.carried: dict[Hashable, Sequence[tuple[int, bytes]]] = {}


class Link(trio.abc.Channel[bytes]):
    """A two-way carrier of frames. One task receives; one task sends.

    `receive` raises `trio.EndOfChannel` once the peer has closed in order (a half-close
    still lets us send) and `PeerClosed` where it has said how, `LinkBroken` where it did not,
    `LinkClosed` after our own close.
    """

    opening: Opening
    speaks_status: bool = False
    """Whether it ends with a gRPC status (0 to 16) in place of a close code."""

    @abstractmethod
    async def receive_some(self) -> Sequence[bytes]:
        """All frames that have come, at least one: waits for the first only.

        Raises: `trio.EndOfChannel`, `LinkBroken`, `LinkClosed`. Cancelled, it loses nothing.
        """

    @abstractmethod
    async def send_some(self, frames: Sequence[bytes]) -> None:
        """Send frames in order, in as few writes as the carriage allows. Of a `Pack`, what goes on
        the wire may be made once for all links that are sent it.

        Raises: `FrameTooLong` (before anything is sent), `LinkBroken`, `LinkClosed`.
        Cancelled in the middle of a frame, the link is broken at once and for good: the peer
        sees whole frames, or the end of the link, and never half a frame and then another.
        """

    def begin(self, frames: Sequence[bytes]) -> Awaitable[None] | None:
        """As `send_some`, as far as the carriage takes frames without waiting. None: all of them
        are sent, and no other task has had a turn. Else what comes back does the rest: it must be
        awaited, by the same task and before anything else. Raises as `send_some`, too."""
        return self.send_some(frames)

    async def send(self, value: bytes) -> None:
        """Send one frame, as `send_some` does."""
        await self.send_some((value,))

    async def send_eof(self) -> bool:
        """Say that nothing more is sent from here, and go on receiving. Answers False, and does
        nothing, where the carriage has no word for that but its end.

        Raises: `LinkBroken`, `LinkClosed`.
        """
        await trio.lowlevel.checkpoint()
        return False

    @abstractmethod
    async def close(self, code: int | None, reason: str = "") -> None:
        """End the link. With a code: the closing handshake where the carriage has one, for at
        most 5 s. Without one (None): at once, and without a word. Idempotent. Cancelled, the
        link is closed all the same."""

    async def wait_over(self) -> None:
        """Behind `EndOfChannel`: wait until nothing can be sent any more either, or the link is
        closed here. Returns at once where a carriage cannot tell the one from the other."""

    async def aclose(self) -> None:
        """End it in order, with code 1000."""
        await self.close(1000)

    @abstractmethod
    def statistics(self) -> LinkStatistics:
        """The figures so far."""


Handler: TypeAlias = Callable[[Link], Awaitable[None]]
"""Serves one link and closes it; what it raises ends that link only."""


class Listener(trio.abc.AsyncResource):
    """A bound address. Bound when it was made: clients may dial before `serve` runs."""

    addresses: tuple[str, ...]
    """The URLs that reach it, with real ports."""

    @abstractmethod
    async def serve(self, handler: Handler) -> None:
        """Accept links and run `handler` for each, in a nursery of its own, until cancelled.
        Handshakes run side by side, each with a deadline; a failed one ends itself only. After
        `aclose` nothing is accepted any more, and it returns with the last link."""

    def retire(self) -> None:
        """Tell peers that no link begins here any more, where the carriage has a word for that;
        it then stops listening, too. Where it has none nothing happens. Links live on."""

    @abstractmethod
    async def aclose(self) -> None:
        """Stop listening; a socket file of ours is removed. Links live on."""


class Dialer:
    """Knows how to reach one address. Making one touches nothing."""

    address: str

    @abstractmethod
    async def dial(self) -> Link:
        """Reach it, within the handshake's deadline.

        Raises: `DialRefused`, `DialFailed`. Cancelled, nothing is left open.
        """


class DialFailed(LinkError):
    """Nobody answered, or the handshake did not come to an end. Trying again may help."""


class DialRefused(LinkError):
    """The peer answered and said no (`status`: of HTTP, or of gRPC), or its certificate does not
    hold. Trying again with the same credentials will not help where `final`."""

    def __init__(self, message: str, status: int | None = None, *, final: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.final = final


class ListenFailed(LinkError):
    """The address is well formed and cannot be bound here and now: it is taken, its folder is
    open to others, its port is not ours. The text says what to do."""


class AddressError(ValueError):
    """An address, or what is set beside it, cannot be used: the text says what is wanted."""


class PathTooLong(AddressError):
    """A socket's path is longer than this system has them: well formed, and no socket can be there.
    The text says how long it may be."""


@attrs.frozen(slots=True)
class TlsFiles:
    """PEM files. For a listener `certificate` and `key` are needed and `ca`, if given, makes
    it demand a certificate of its clients. For a dialler `ca` replaces the system's roots and
    the pair is its own certificate. TLS 1.2 at least."""

    certificate: str | None = None
    key: str | None = None
    ca: str | None = None


@attrs.frozen(slots=True)
class Rejection:
    """An HTTP answer to an upgrade, other than 101."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = NO_HEADERS


@attrs.frozen(slots=True)
class GrpcMethod:
    """One method of a gRPC service: whether its client, and its server, send any number of
    messages or exactly one."""

    client_streams: bool = True
    server_streams: bool = True


@attrs.frozen(slots=True)
class GrpcOptions:
    """What gRPC needs to know; each call is a link, and a frame is one message.

    `calls`: the methods by path (`/package.Service/Method`). A listener serves these, and
    answers any other with UNIMPLEMENTED. `dial`: the path that a dialler calls; one that is
    not in `calls` streams both ways. `descriptors`: serialized `FileDescriptorProto`s for
    reflection, each behind those it imports. `final`: the statuses after which a dialler does
    not try again. `ping_every`: seconds between a client's pings (None: none).
    `pings_allowed_every`: seconds between those that a server puts up with.
    """

    calls: Mapping[str, GrpcMethod] = attrs.field(factory=dict[str, GrpcMethod])
    dial: str = ""
    descriptors: tuple[bytes, ...] = attrs.field(default=(), repr=False)
    final: frozenset[int] = frozenset()
    ping_every: float | None = 300.0
    pings_allowed_every: float = 10.0


Report: TypeAlias = Callable[[str, BaseException | None], None]
"""Told of what ended by itself while a listener serves. First one of `handshake_failed`,
`handshakes_full`, `links_full`, `handler_failed`, `carrier_failed`, `certificate_not_renewed`; then
the reason. It must not raise, nor wait."""


@attrs.frozen(slots=True)
class Options:
    """How frames are carried over one address.

    `framing`: name of the framing on byte streams. `limit`: largest frame in bytes.
    WebSocket: `path` (where the address has none), `binary` (else text messages), `any_text` (one
    that comes or goes need not be UTF-8), `drop_other` (for a message of the other kind the link
    ends without a word, and not with 1003), `subprotocols`, `unoffered_final` (a server that
    selects another than was offered has refused a dial for good), `ping_every` and `dead_after` in
    seconds, `alive_by_pong` (only a pong is a sign of life, and not any byte), `write_within`
    (seconds that the write of a control frame may take; of a message, whoever sends it bounds
    that), `headers` to send, `authorize` to answer an upgrade with something other than 101 (None:
    go on); it may read the opening's headers, among them `host` and `sec-websocket-protocol` (what
    was offered). gRPC:
    `grpc`; `headers` is the metadata to send, and what `authorize` says becomes a status.
    """

    framing: str = "varint"
    limit: int = 1 << 20
    tls: TlsFiles | None = None
    binary: bool = True
    any_text: bool = False
    drop_other: bool = False
    path: str = "/"
    subprotocols: tuple[str, ...] = ()
    unoffered_final: bool = False
    ping_every: float | None = None
    dead_after: float | None = None
    alive_by_pong: bool = False
    write_within: float | None = None
    grpc: GrpcOptions | None = None
    headers: Mapping[str, str] = attrs.field(default=NO_HEADERS, repr=False)
    authorize: Callable[[Opening], int | Rejection | None] | None = None
    handshake_timeout: float = 10.0
    """Seconds for TLS and the upgrade together: rvbox and iop both give a peer 10 s to speak."""
    close_timeout: float = 5.0
    """Seconds that closing in order may take before the link is dropped."""
    max_handshakes: int = 256
    """Handshakes under way at a listener. One more is dropped at once: somebody is flooding us,
    and each holds a socket for as long as `handshake_timeout`."""
    max_handshakes_each: int = 64
    """Those of one place: an IPv4 address, or a /64 of IPv6. One more is dropped at once. A
    quarter: who opens connections and never speaks leaves room for others."""
    max_links: int = 8192
    """Links of a listener that live at a time. One more is dropped at once, before the process
    runs out of file descriptors."""
    max_links_each: int = 6144
    """Those of one place. One more is dropped at once. Three quarters: a whole fleet may stand
    behind one address, and still not shut the others out."""
    report: Report | None = None
    """None: a line in the standard log under `fleetgate.transports`, without any payload."""
