"""The operators' socket: bound, guarded, and served.

Whoever reaches it may do anything. A Unix socket is reached by this user only (0600, in a
directory of ours, and the kernel says who connects); a loopback port by everybody on this
machine, but not by a web page in somebody's browser: a request with an `Origin`, or for a host
that is not this machine, is refused.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import trio

from fleetgate.gateway.admin.http import (
    Handler,
    HttpConnection,
    Reply,
    Request,
    Stream,
    error_reply,
)
from fleetgate.gateway.places import TcpPlace, UnixPlace, place_of
from fleetgate.transports.api import AddressError, ListenFailed
from fleetgate.transports.unix import bound_unix_socket, stranger_at

MAX_CONNECTIONS: Final = 64
"""Connections at a time: operators are few, and each may hold `http.MAX_BODY`. For one more, the
oldest that has not asked anything is closed; where all have asked, the new one is."""

JSON: Final = "application/json"


class AdminServer:
    """A bound admin socket. `address` is what reaches it, with the real port."""

    def __init__(
        self, address: str, listeners: list[trio.SocketListener], *, own_user: bool = False
    ) -> None:
        """`own_user`: they are Unix sockets, and whoever is of another user is cut off."""
        self.address = address
        self._own_user = own_user
        self._listeners = listeners
        self._open: list[HttpConnection] = []
        """Those that count, the oldest first."""

    async def serve(self, handler: Handler, fault: Callable[[Exception], None]) -> None:
        """Serve until cancelled. Faults of `handler` are given to `fault`."""
        one = partial(self._serve_one, handler, fault)
        await trio.serve_listeners(one, self._listeners)

    async def _serve_one(
        self, handler: Handler, fault: Callable[[Exception], None], stream: trio.SocketStream
    ) -> None:
        if self._own_user and stranger_at(stream) is not None:
            await trio.aclose_forcefully(stream)
            return
        connection = HttpConnection(stream, guarded(handler), fault)
        if not self._make_room():
            await connection.refuse()
            return
        self._open.append(connection)
        try:
            await connection.serve()
        finally:
            if connection in self._open:
                self._open.remove(connection)

    def _make_room(self) -> bool:
        """Whether there is room for one more. Those who hold connections and ask nothing must
        not keep the operator out."""
        if len(self._open) < MAX_CONNECTIONS:
            return True
        oldest = next((each for each in self._open if each.waiting), None)
        if oldest is None:
            return False
        self._open.remove(oldest)
        oldest.turn_away()
        return True


@asynccontextmanager
async def open_admin(address: str) -> AsyncGenerator[AdminServer, None]:
    """Bind `unix:PATH` or a loopback `HOST:PORT` until the end of the block.

    Raises: `AddressError`, `ListenFailed`.
    """
    place = place_of(address)
    match place:
        case UnixPlace(path=path):
            async with bound_unix_socket(path) as bound:
                listener = trio.SocketListener(trio.socket.from_stdlib_socket(bound))
                yield AdminServer(address, [listener], own_user=True)
        case TcpPlace(loopback=True):
            listeners = await _open_tcp(address, place)
            async with _closing(listeners):
                port = listeners[0].socket.getsockname()[1]
                host = f"[{place.host}]" if ":" in place.host else place.host
                yield AdminServer(f"{host}:{port}", listeners)
        case _:
            raise AddressError(f"{address} is no place for an admin socket: use unix:PATH")


async def _open_tcp(address: str, place: TcpPlace) -> list[trio.SocketListener]:
    try:
        return await trio.open_tcp_listeners(place.port, host=place.host)
    except OSError as error:
        raise ListenFailed(f"cannot listen at {address}: {error.strerror or error}") from error


@asynccontextmanager
async def _closing(listeners: list[trio.SocketListener]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        for listener in listeners:
            listener.socket.close()


def guarded(handler: Handler) -> Handler:
    """The handler behind the checks that keep a browser's pages out."""

    async def handle(request: Request) -> Reply | Stream:
        return _refusal(request) or await handler(request)

    return handle


def _refusal(request: Request) -> Reply | None:
    if "origin" in request.headers:
        return error_reply(403, "forbidden", "this is not for web pages")
    if not _is_local(request.headers.get("host", "")):
        return error_reply(421, "forbidden", "this is not that host; ask for localhost")
    if request.body and request.headers.get("content-type", "").partition(";")[0] != JSON:
        return error_reply(415, "no_json", f"a body is {JSON}")
    return None


def _is_local(host: str) -> bool:
    """Whether a Host header names this machine: a name that was made to point here does not."""
    place = place_of(host) or place_of(f"{host}:0")
    return isinstance(place, TcpPlace) and place.loopback
