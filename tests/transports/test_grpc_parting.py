from __future__ import annotations

import asyncio

import trio

from fleetgate.transports.grpc_connection import GrpcConnection
from fleetgate.transports.grpc_loop import open_loop
from fleetgate.transports.grpc_parting import abort, close
from fleetgate.transports.tls import client_context, server_context


class Secure(asyncio.Transport):
    """What asyncio's TLS does on Python 3.11.2."""

    def __init__(self) -> None:
        super().__init__()
        self._protocol: list[str] | None = []
        self.asked = self._protocol
        self._closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is written."""

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        if self._closed:
            self._protocol = None
            return
        self._closed = True
        assert self._protocol is not None
        self._protocol.append("close")

    def abort(self) -> None:
        self._closed = True
        self._protocol.append("abort")  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def test_what_was_closed_twice_can_still_be_dropped() -> None:
    transport = Secure()
    close(transport)
    close(transport)
    abort(transport)
    assert transport.asked == ["close", "abort"]


def test_what_has_nothing_left_to_drop_is_dropped_quietly() -> None:
    transport = Secure()
    transport.close()
    transport.close()
    abort(transport)
    assert transport.is_closing()


def secure() -> GrpcConnection:
    connection = GrpcConnection(client=False)
    connection.connection_made(Secure())
    return connection


def test_a_connection_over_tls_may_end_and_fail_in_any_order() -> None:
    connection = secure()
    connection.end("it was drained")
    connection.end("the handshake failed")
    connection.fail("the peer took nothing more")
    assert connection.why == "it was drained"
    connection = secure()
    connection.fail("the peer took nothing more")
    connection.end("it was drained")
    connection.end("it was drained")
    connection.fail("the listener ended it")
    assert connection.why == "the peer took nothing more"


async def test_a_peer_that_says_no_goodbye_is_dropped_though_it_was_closed_twice(
    certificates,
) -> None:
    """On any Python: what a second `close` has let go of, `abort` could not reach any more."""
    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listening:
        near = await trio.open_tcp_stream(*listening.socket.getsockname())
        far = await listening.accept()
    context = client_context(certificates.dialling())
    client = trio.SSLStream(near, context, server_hostname="127.0.0.1")
    server = GrpcConnection(client=False)
    async with near, open_loop() as loop:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.do_handshake)
            context = server_context(certificates.listening())
            await loop.adopt(far, server, context=context, close_timeout=600)
        server.end("it was drained")
        server.end("the handshake failed")
        server.fail("the peer took nothing more")
        with trio.fail_after(60):
            await server.gone.wait()
