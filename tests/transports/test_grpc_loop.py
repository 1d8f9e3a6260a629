from __future__ import annotations

import ssl

import pytest
import trio

from fleetgate.transports.api import TlsFiles
from fleetgate.transports.grpc_call import either
from fleetgate.transports.grpc_client import ClientConnection
from fleetgate.transports.grpc_connection import GrpcConnection
from fleetgate.transports.grpc_loop import Loop, open_loop
from fleetgate.transports.tls import client_context, server_context


class Server(GrpcConnection):
    def __init__(self) -> None:
        super().__init__(client=False)


async def streams() -> tuple[trio.SocketStream, trio.SocketStream]:
    (listening,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listening:
        near = await trio.open_tcp_stream(*listening.socket.getsockname())
        return near, await listening.accept()


async def test_two_connections_meet() -> None:
    near, far = await streams()
    async with open_loop() as loop:
        client, server = ClientConnection("here"), Server()
        await loop.adopt(near, client, close_timeout=1)
        await loop.adopt(far, server, close_timeout=1)
        assert client.certificate == server.certificate == {}
        await client.ready.wait()
        await server.ready.wait()
        client.end("enough")
        await server.lost.wait()
        assert server.why == "the peer ended it"


async def test_what_is_open_at_its_end_is_closed() -> None:
    near, far = await streams()
    async with far:
        async with open_loop() as loop:
            client = ClientConnection("here")
            await loop.adopt(near, client, close_timeout=1)
        assert client.gone.is_set()
        assert client.lost.is_set()


async def test_tls_tells_who_it_is(certificates) -> None:
    near, far = await streams()
    async with open_loop() as loop:
        client, server = ClientConnection("here"), Server()

        async def serve() -> None:
            context = server_context(certificates.listening(mutual=True))
            await loop.adopt(far, server, context=context, close_timeout=1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            context = client_context(certificates.dialling(mutual=True))
            await loop.adopt(
                near, client, context=context, server_hostname="127.0.0.1", close_timeout=1
            )
        assert client.certificate["subject"]
        assert server.certificate["subject"]
        await either(client.ready, client.lost)
        assert not client.lost.is_set()


async def test_a_handshake_that_fails_leaves_no_socket(certificates) -> None:
    near, far = await streams()
    async with far, open_loop() as loop:
        client = ClientConnection("here")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(far.send_all, b"no TLS at all, but long enough to be told")
            with pytest.raises(ssl.SSLError):
                await loop.adopt(
                    near,
                    client,
                    context=client_context(TlsFiles(ca=certificates.ca)),
                    server_hostname="127.0.0.1",
                    close_timeout=1,
                )
        assert client.lost.is_set()


async def test_a_handshake_that_is_cancelled_leaves_no_socket(certificates) -> None:
    near, far = await streams()
    async with far, open_loop() as loop:
        client = ClientConnection("here")
        async with trio.open_nursery() as nursery:

            async def adopt() -> None:
                await loop.adopt(
                    near,
                    client,
                    context=client_context(TlsFiles(ca=certificates.ca)),
                    server_hostname="127.0.0.1",
                    close_timeout=1,
                )

            nursery.start_soon(adopt)
            assert await far.receive_some()
            nursery.cancel_scope.cancel()
        while True:
            try:
                if not await far.receive_some():
                    break
            except trio.BrokenResourceError:
                break
        assert client.lost.is_set()


async def test_what_is_raised_in_its_block_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with open_loop():
            raise KeyError("mine")


async def test_what_asyncio_fails_at_is_reported_and_ends_nothing() -> None:
    reports: list[tuple[str, str]] = []

    def report(what: str, why: BaseException | None) -> None:
        reports.append((what, repr(why)))

    def fail() -> None:
        raise RuntimeError("a bug")

    near, far = await streams()
    async with far, open_loop(report) as loop:
        loop._loop.call_soon(fail)
        loop._loop.call_exception_handler({"message": "something is odd"})
        client = ClientConnection("here")
        await loop.adopt(near, client, close_timeout=1)
        assert not client.lost.is_set()
    assert sorted(reports) == [
        ("carrier_failed", "RuntimeError('a bug')"),
        ("carrier_failed", "RuntimeError('something is odd')"),
    ]


async def test_blocks_may_be_left_in_any_order() -> None:
    """Two loops, neither of them inside the other."""
    first_up, second_up, first_over = trio.Event(), trio.Event(), trio.Event()

    async def first() -> None:
        async with open_loop():
            first_up.set()
            await second_up.wait()
        first_over.set()

    async def second() -> None:
        await first_up.wait()
        async with open_loop() as loop:
            assert isinstance(loop, Loop)
            second_up.set()
            await first_over.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        nursery.start_soon(second)


async def test_a_block_that_is_cancelled_ends() -> None:
    with trio.CancelScope() as scope:
        async with open_loop():
            scope.cancel()
            await trio.sleep_forever()
    with trio.CancelScope() as scope:
        scope.cancel()
        async with open_loop():
            pass
    assert scope.cancelled_caught
