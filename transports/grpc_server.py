"""The server's half: connections that take calls, and the listener that hands them out as links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import attrs
import trio
from h2.errors import ErrorCodes

from fleetgate.transports.api import (
    GrpcMethod,
    GrpcOptions,
    Handler,
    LinkBroken,
    Listener,
    Opening,
    Options,
    Report,
)
from fleetgate.transports.crowd import Crowd, place_of
from fleetgate.transports.grpc_call import either
from fleetgate.transports.grpc_connection import GrpcConnection
from fleetgate.transports.grpc_ends import ServedLink
from fleetgate.transports.grpc_http2 import CALLS
from fleetgate.transports.grpc_keepalive import TOO_MANY, PingWatch
from fleetgate.transports.grpc_loop import Loop
from fleetgate.transports.grpc_metadata import ANSWER, is_grpc, metadata_of
from fleetgate.transports.grpc_status import (
    INTERNAL,
    UNIMPLEMENTED,
    UNKNOWN,
    read_timeout,
    status_of_http,
    trailers_of,
)
from fleetgate.transports.renewal import Renewal
from fleetgate.transports.serving import log_report, serve_link
from fleetgate.transports.tcp import peer_of
from fleetgate.transports.tls import expiry, found, identities
from fleetgate.transports.upgrade import refusal

QUIET: Final = 60.0
"""Seconds that a connection may carry no call of somebody who was let in, and be asked nothing;
within as much again it is ended, with a GOAWAY, and its client connects anew for the next call. A
place among `max_links` is held by who has a use for it."""

_NOT_GRPC: Final = 415
_NOT_POST: Final = 405


OwnHandler: TypeAlias = Callable[[ServedLink], Awaitable[None]]


@attrs.frozen(slots=True)
class Route:
    """Where calls of a path go: to a handler of the carriage's own, or (None) of whoever serves.
    `open`: also for those whom `authorize` does not let in."""

    method: GrpcMethod
    handler: OwnHandler | None = None
    open: bool = False


Routes: TypeAlias = Mapping[str, Route]

Start: TypeAlias = Callable[["ServerConnection", ServedLink, Route, float | None], None]
"""It is given the connection, and holds none: the two would hold each other."""


class ServerConnection(GrpcConnection):
    """A client's connection. Its calls become links as they come."""

    def __init__(
        self, peer: str, options: Options, routes: Routes, start: Start, full: Callable[[int], bool]
    ) -> None:
        super().__init__(client=False)
        use = options.grpc or GrpcOptions()
        self.running = 0
        """Handlers at work, those of calls that were cut among them."""
        self.strangers = 0
        """Those of them whose route is open: whoever asks was not asked who it is."""
        self.asked = False
        """A call came since this was last looked at."""
        self.peer = peer
        self._options = options
        self._routes = routes
        self._start = start
        self._full = full
        self._fresh: list[tuple[ServedLink, Route, float | None]] = []
        self._pings = PingWatch(use.pings_allowed_every)

    def quiet(self) -> bool:
        """Whether nothing has gone on since this was last asked, and nothing does."""
        asked, self.asked = self.asked, False
        return not asked and self.running <= self.strangers

    def on_request(self, stream_id: int, headers: dict[str, str]) -> None:
        self.asked = True
        fresh = len(self._fresh)
        if self.retired or self.running + fresh >= CALLS or self._full(fresh):
            self.reset(stream_id, ErrorCodes.REFUSED_STREAM)
            return
        if headers.get(":method") != "POST":
            self._refuse_http(stream_id, _NOT_POST)
        elif not is_grpc(headers.get("content-type", "")):
            self._refuse_http(stream_id, _NOT_GRPC)
        else:
            self._call(stream_id, headers)

    def _call(self, stream_id: int, headers: dict[str, str]) -> None:
        path = headers.get(":path", "")
        route = self._routes.get(path)
        if route is None:
            self._refuse(stream_id, UNIMPLEMENTED, "this server has no such method")
            return
        try:
            seconds = read_timeout(headers["grpc-timeout"]) if "grpc-timeout" in headers else None
        except ValueError:
            self._refuse(stream_id, INTERNAL, "grpc-timeout cannot be read")
            return
        opening = Opening(
            self.peer,
            path,
            metadata_of(headers),
            identities(self.certificate),
            expires=expiry(self.certificate),
        )
        rejection = None if route.open else refusal(self._options, opening)
        if rejection is not None:
            text = rejection.body.decode("utf-8", "replace") or "the call was refused"
            self._refuse(stream_id, status_of_http(rejection.status), text)
            return
        encoding = headers.get("grpc-encoding", "identity")
        link = ServedLink(self, stream_id, route.method, opening, self._options, encoding)
        self.calls[stream_id] = link
        self._fresh.append((link, route, seconds))

    def _refuse(self, stream_id: int, status: int, message: str) -> None:
        self.send_headers(stream_id, [*ANSWER, *trailers_of(status, message)], last=True)
        self.reset(stream_id, ErrorCodes.NO_ERROR)

    def _refuse_http(self, stream_id: int, status: int) -> None:
        trailers = trailers_of(UNKNOWN, "this port speaks gRPC")
        self.send_headers(stream_id, [(":status", str(status)), *trailers], last=True)
        self.reset(stream_id, ErrorCodes.NO_ERROR)

    def on_settled(self) -> None:
        # Only now: of a flood that opens calls and cuts them, most are gone by here.
        fresh, self._fresh = self._fresh, []
        for link, route, seconds in fresh:
            if not link.over:
                self._start(self, link, route, seconds)

    def on_spoke(self) -> None:
        self._pings.spoke()

    def on_ping(self) -> None:
        if not self._pings.pinged(trio.current_time()):
            self.retire(ErrorCodes.ENHANCE_YOUR_CALM, TOO_MANY)
            self.end("the peer sent too many pings")

    def on_empty(self) -> None:
        if self.retired:
            self.end("it was drained")


class GrpcListener(Listener):
    """Sockets that are bound, and the way from an accepted stream to links."""

    def __init__(
        self,
        listeners: Sequence[trio.SocketListener],
        addresses: tuple[str, ...],
        options: Options,
        routes: Routes,
        loop: Loop,
        renewal: Renewal | None,
        drain: Callable[[], None],
    ) -> None:
        self.addresses = addresses
        self._listeners = list(listeners)
        self._options = options
        self._routes = routes
        self._loop = loop
        self._renewal = renewal
        self._drain = drain
        self._report: Report = options.report or log_report
        self._connections: set[ServerConnection] = set()
        self._links = 0
        self._peers = Crowd("connections", options.max_links, options.max_links_each)
        self._handshakes = Crowd("handshakes", options.max_handshakes, options.max_handshakes_each)
        self._closed = False

    async def serve(self, handler: Handler) -> None:
        accept = partial(self._serve_stream, handler)
        async with trio.open_nursery() as connections:
            try:
                await trio.serve_listeners(accept, self._listeners, handler_nursery=connections)
            except* trio.ClosedResourceError:
                # `aclose` was called: accept no more, and end with the last link.
                pass

    def retire(self) -> None:
        self._closed = True
        for listener in self._listeners:
            listener.socket.close()
        self._drain()
        for connection in tuple(self._connections):
            connection.retire()
            if not connection.calls:
                connection.end("it was drained")

    async def aclose(self) -> None:
        self.retire()
        await trio.lowlevel.checkpoint()

    def _full(self, fresh: int) -> bool:
        if self._links + fresh < self._options.max_links:
            return False
        self._report("links_full", None)
        return True

    async def _serve_stream(self, handler: Handler, stream: trio.SocketStream) -> None:
        place = place_of(stream)
        if (full := self._peers.refusal(place)) is not None:
            await self._drop(stream, "links_full", full)
        elif (full := self._handshakes.refusal(place)) is not None:
            await self._drop(stream, "handshakes_full", full)
        else:
            with self._peers.one(place):
                async with trio.open_nursery() as calls:
                    await self._serve_connection(handler, stream, calls)

    async def _drop(self, stream: trio.SocketStream, what: str, reason: LinkBroken) -> None:
        self._report(what, reason)
        await trio.aclose_forcefully(stream)

    async def _serve_connection(
        self, handler: Handler, stream: trio.SocketStream, calls: trio.Nursery
    ) -> None:
        start = partial(self._start_call, calls, handler)
        peer = peer_of(stream)
        connection = ServerConnection(peer, self._options, self._routes, start, self._full)
        self._connections.add(connection)
        try:
            if await self._shake_hands(stream, connection):
                await _while_used(connection)
            await self._part(connection)
        finally:
            self._connections.discard(connection)
            connection.retire()
            connection.end("the listener ended it")

    def _start_call(
        self,
        calls: trio.Nursery,
        handler: Handler,
        connection: ServerConnection,
        link: ServedLink,
        route: Route,
        seconds: float | None,
    ) -> None:
        self._links += 1
        connection.running += 1
        connection.strangers += route.open

        async def serve() -> None:
            try:
                await self._serve_call(_serving(route, handler, link), link, seconds)
            finally:
                self._links -= 1
                connection.running -= 1
                connection.strangers -= route.open

        calls.start_soon(serve)

    async def _part(self, connection: ServerConnection) -> None:
        """Wait until its socket is closed. What a peer does not take does not keep it open."""
        if connection.attached:
            connection.end("the handshake failed")
            with trio.move_on_after(self._options.close_timeout):
                await connection.gone.wait()
        connection.fail("the peer took nothing more")

    async def _shake_hands(self, stream: trio.SocketStream, connection: ServerConnection) -> bool:
        """Whether the peer has shown in time that it speaks HTTP/2."""
        reason: BaseException = LinkBroken("the handshake took too long")
        within = trio.move_on_after(self._options.handshake_timeout)
        try:
            with self._handshakes.one(place_of(stream)), within:
                await self._loop.adopt(
                    stream,
                    connection,
                    context=None if self._renewal is None else self._renewal.context(),
                    close_timeout=self._options.close_timeout,
                )
                await either(connection.ready, connection.lost)
                if connection.ready.is_set():
                    if self._closed:
                        connection.retire()
                    return True
                reason = LinkBroken(connection.why)
        except OSError as error:
            kind = "handshake" if self._renewal is None else "TLS handshake"
            reason = LinkBroken(f"no {kind} with {connection.peer}: {found(error)}")
        except Exception as error:
            # Whatever a stranger can make us raise here ends the stranger's stream only.
            reason = error
        self._report("handshake_failed", reason)
        return False

    async def _serve_call(self, handler: Handler, link: ServedLink, seconds: float | None) -> None:
        if seconds is None:
            await serve_link(link, handler, self._report)
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.expire, seconds)
            await serve_link(link, handler, self._report)
            nursery.cancel_scope.cancel()


async def _while_used(connection: ServerConnection) -> None:
    """Wait for its end, and bring that about where nobody uses it."""
    while not connection.lost.is_set():
        with trio.move_on_after(QUIET):
            await connection.lost.wait()
            return
        if connection.quiet():
            connection.retire()
            connection.end("nobody called for a while")


def _serving(route: Route, handler: Handler, link: ServedLink) -> Handler:
    own = route.handler
    return handler if own is None else lambda _link: own(link)


def served(options: Options, own: Mapping[str, Route]) -> Routes:
    """All that a listener answers: what it is asked to, and the carriage's own services."""
    use = options.grpc or GrpcOptions()
    return {**own, **{path: Route(method) for path, method in use.calls.items()}}
