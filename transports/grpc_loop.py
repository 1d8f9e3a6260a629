"""asyncio, for grpclib, inside a nursery of trio: a loop, and sockets that are handed to it.

This file, `grpc_connection.py` and `grpc_parting.py` are all that knows of asyncio. Sockets are
made, connected and accepted by trio; asyncio has them from then on, and the TLS on them.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, cast

import trio
import trio_asyncio  # pyright: ignore[reportMissingTypeStubs]

from fleetgate.transports.api import Report
from fleetgate.transports.grpc_connection import GrpcConnection
from fleetgate.transports.grpc_parting import abort
from fleetgate.transports.serving import log_report
from fleetgate.transports.tls import TellingContext

_open = cast(Any, trio_asyncio.open_loop)  # pyright: ignore[reportUnknownMemberType]
"""It has no types."""


class Loop:
    """A running loop. Made by `open_loop`."""

    tasks: trio.Nursery
    """For what goes on beside it, to the end of its block at most. Nothing there may raise."""

    def __init__(self, loop: Any, report: Report) -> None:
        self._loop = loop
        self._report = report
        self._transports: set[asyncio.Transport] = set()
        loop.set_exception_handler(self._failed)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # trio-asyncio's own handler raises: one connection's fault would end all of them.
        found = context.get("exception")
        known = isinstance(found, Exception)
        self._report("carrier_failed", found if known else RuntimeError(str(context["message"])))

    async def adopt(
        self,
        stream: trio.SocketStream,
        connection: GrpcConnection,
        *,
        context: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
        close_timeout: float,
    ) -> None:
        """Hand a connected socket over, with a TLS handshake where there is a context.

        Raises: `OSError`, of which `ssl.SSLError` is one. Then, and when cancelled, the socket
        is closed.
        """
        plain = socket.socket(fileno=stream.socket.detach())
        extra: dict[str, Any] = {}
        if context is not None:
            telling = TellingContext(context, partial(_send_alert, plain))
            extra = {"ssl": telling, "ssl_shutdown_timeout": close_timeout}
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            factory = partial(_given, connection)
            if connection.client:
                if context is not None:
                    extra["server_hostname"] = server_hostname
                made = self._loop.create_connection(factory, sock=plain, **extra)
            else:
                made = self._loop.connect_accepted_socket(factory, plain, **extra)
            transport, _protocol = await self._loop.run_aio_coroutine(made)
        except BaseException:
            connection.fail("the handshake did not come to its end")
            plain.close()
            raise
        if not connection.gone.is_set():
            self._transports.add(transport)
            connection.when_gone = partial(self._transports.discard, transport)

    def abort(self) -> None:
        """Close all sockets, before the loop is."""
        for transport in tuple(self._transports):
            abort(transport)


def _send_alert(plain: socket.socket, alert: bytes) -> None:
    """Past asyncio, which closes the socket next and sends nothing more. Where a part of the
    handshake is still in its buffers, the peer sees a cut connection in place of the alert."""
    with suppress(OSError):
        plain.send(alert)


def _given(connection: GrpcConnection) -> GrpcConnection:
    return connection


@asynccontextmanager
async def open_loop(report: Report | None = None) -> AsyncGenerator[Loop, None]:
    """A loop until the end of the block; sockets that it still has then are closed. What asyncio
    fails at by itself is reported.

    It runs in a task of its own: trio-asyncio notes the loop in the task's context, where blocks
    that are left in another order than they were entered would leave the wrong one.
    """
    made: list[Loop] = []
    running, over = trio.Event(), trio.Event()

    async def run() -> None:
        # Shielded: it goes on for as long as the block does, which is cancelled by itself.
        with trio.CancelScope(shield=True):
            async with _open() as loop:
                made.append(Loop(loop, report or log_report))
                running.set()
                await over.wait()
                made[0].abort()

    failure: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        try:
            await running.wait()
            made[0].tasks = nursery
            yield made[0]
        except BaseException as error:
            # Raised again outside: in here the nursery would wrap it, and whoever opened an
            # address would have to know of this one.
            failure = error
        finally:
            over.set()
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
