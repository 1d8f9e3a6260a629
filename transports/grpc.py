"""Links over gRPC: `grpc://HOST:PORT` and `grpcs://…`. One call is one link, a frame one message.

grpclib speaks for asyncio, so a loop of asyncio runs in trio's, in the block of
`open_grpc_listener` and of `open_grpc_dialer`; nothing outside `grpc_*.py` knows of it.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import trio

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    Dialer,
    DialFailed,
    DialRefused,
    GrpcMethod,
    GrpcOptions,
    Link,
    Listener,
    ListenFailed,
    Opening,
    Options,
    TlsFiles,
)
from fleetgate.transports.grpc_call import either
from fleetgate.transports.grpc_client import ClientConnection
from fleetgate.transports.grpc_ends import DialledLink
from fleetgate.transports.grpc_loop import Loop, open_loop
from fleetgate.transports.grpc_metadata import request
from fleetgate.transports.grpc_server import GrpcListener, served
from fleetgate.transports.grpc_services import own_services
from fleetgate.transports.renewal import Renewal
from fleetgate.transports.tcp import bound, connect, reason, within_deadline
from fleetgate.transports.tls import dialling_context, found, identities, server_context

ALPN: Final = ["h2"]

BACKLOG: Final = 512
"""Connections that the kernel keeps for us between two turns of the loop."""


@asynccontextmanager
async def open_grpc_listener(address: Address, options: Options) -> AsyncGenerator[Listener, None]:
    """Bind the port until the end of the block, with reflection and the health service beside
    the methods of the options. Files of `grpcs` are read here, and again at the next
    handshake when one of them has changed.

    Raises: `AddressError`, `ListenFailed`.
    """
    renewal = Renewal(options, _listening_context) if address.scheme == "grpcs" else None
    try:
        sockets = await trio.open_tcp_listeners(address.port, host=address.host, backlog=BACKLOG)
    except OSError as error:
        raise ListenFailed(f"cannot listen at {address}: {reason(error)}") from error
    own = own_services(options.grpc or GrpcOptions())
    async with open_loop(options.report) as loop:
        routes = served(options, own.routes)
        listener = GrpcListener(
            sockets, bound(address, sockets), options, routes, loop, renewal, own.drain
        )
        try:
            yield listener
        finally:
            await listener.aclose()


def _listening_context(files: TlsFiles) -> ssl.SSLContext:
    context = server_context(files)
    context.set_alpn_protocols(ALPN)
    return context


@asynccontextmanager
async def open_grpc_dialer(address: Address, options: Options) -> AsyncGenerator[Dialer, None]:
    """A dialer whose links live in this block: leaving it drops those that are still open."""
    async with open_loop(options.report) as loop:
        yield GrpcDialer(address, options, loop)


class GrpcDialer(Dialer):
    """Makes the call that its options name, on a connection of its own each time. Files of
    `grpcs` are read at each dial."""

    def __init__(self, address: Address, options: Options, loop: Loop) -> None:
        self.address = str(address)
        self._target = address
        self._options = options
        self._use = options.grpc or GrpcOptions()
        self._loop = loop

    async def dial(self) -> Link:
        context = None
        if self._target.scheme == "grpcs":
            context = dialling_context(self._options)
            context.set_alpn_protocols(ALPN)
        with within_deadline(self._target, self._options):
            connection = ClientConnection(self.address)
            try:
                return await self._call(connection, context)
            except BaseException:
                connection.fail("the dial came to nothing")
                raise

    async def _call(
        self, connection: ClientConnection, context: ssl.SSLContext | None
    ) -> DialledLink:
        await self._connect(connection, context)
        names = identities(connection.certificate)
        use = self._use
        scheme = "http" if context is None else "https"
        headers = request(self._target.netloc, use.dial, scheme, self._options.headers)
        opening = Opening(self._target.netloc, use.dial, identities=names)
        method = use.calls.get(use.dial, GrpcMethod())
        link = DialledLink(connection, connection.next_id(), method, opening, self._options, use)
        connection.begin(link, headers)
        await self._hear_refusal(connection, link)
        if use.ping_every is not None:
            self._loop.tasks.start_soon(connection.keep_alive, use.ping_every)
        return link

    async def _connect(self, connection: ClientConnection, context: ssl.SSLContext | None) -> None:
        stream = await connect(self._target)
        try:
            await self._loop.adopt(
                stream,
                connection,
                context=context,
                server_hostname=self._target.host,
                close_timeout=self._options.close_timeout,
            )
        except ssl.SSLCertVerificationError as error:
            text = f"the certificate does not hold: {error.verify_message}"
            raise DialRefused(f"no TLS handshake with {self._target}: {text}") from error
        except OSError as error:
            raise DialFailed(f"no TLS handshake with {self._target}: {found(error)}") from error
        await either(connection.ready, connection.lost)
        if connection.lost.is_set():
            hint = "" if context else "; where TLS is spoken, the address begins with grpcs:"
            raise DialFailed(f"no gRPC at {self._target}: {connection.why}{hint}")

    async def _hear_refusal(self, connection: ClientConnection, link: DialledLink) -> None:
        """A server that refuses a call does so at once, mostly: wait as long as one ping takes."""
        await either(connection.ping(b"settled?"), connection.lost)
        end = link.end
        if connection.lost.is_set():
            raise DialFailed(f"no gRPC at {self._target}: {connection.why}")
        if end is not None and end.text is not None and link.statistics().frames_in == 0:
            raise DialRefused(f"{self._target}: {end.text}", end.code, final=end.final)
