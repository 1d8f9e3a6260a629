"""Links over TCP: `tcp://HOST:PORT`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import trio

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    Dialer,
    DialFailed,
    Link,
    Listener,
    ListenFailed,
    Opening,
    Options,
)
from fleetgate.transports.framing import make_framer
from fleetgate.transports.serving import Greet, StreamListener
from fleetgate.transports.stream import StreamLink


class TcpDialer(Dialer):
    """Reaches a TCP port."""

    def __init__(self, address: Address, options: Options) -> None:
        self.address = str(address)
        self._target = address
        self._options = options

    async def dial(self) -> Link:
        with within_deadline(self._target, self._options):
            return make_link(await connect(self._target), self._options)


@contextmanager
def within_deadline(address: Address, options: Options) -> Generator[None, None, None]:
    """Bounds a handshake. Raises: `DialFailed` once `handshake_timeout` has passed."""
    try:
        with trio.fail_after(options.handshake_timeout):
            yield
    except trio.TooSlowError:
        raise DialFailed(
            f"{address} did not answer within {options.handshake_timeout:g} s"
        ) from None


async def connect(address: Address) -> trio.SocketStream:
    """A TCP connection. Raises: `DialFailed`."""
    try:
        return await trio.open_tcp_stream(address.host, address.port)
    except OSError as error:
        raise DialFailed(f"{address} cannot be reached: {reason(error)}") from error


def reason(error: OSError) -> str:
    """The system's own words, without the number; of several attempts those on the first."""
    match error.__cause__:
        # trio's own error says only that all attempts failed, and each of them where to, too.
        case BaseExceptionGroup(exceptions=(OSError(errno=int(number)), *_)):
            return os.strerror(number)
        case _:
            return error.strerror or str(error)


def peer_of(stream: trio.SocketStream) -> str:
    """The far end as HOST:PORT; empty where it has gone already."""
    try:
        host, port, *_ = stream.socket.getpeername()
    except OSError:
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def make_link(stream: trio.SocketStream, options: Options) -> Link:
    """A link over a connected socket."""
    return StreamLink(
        stream,
        make_framer(options.framing, options.limit),
        Opening(peer=peer_of(stream)),
        close_timeout=options.close_timeout,
        linger=True,
    )


@asynccontextmanager
async def bind(
    address: Address, options: Options, greet: Greet
) -> AsyncGenerator[StreamListener, None]:
    """Listen on every address that the host stands for. Raises: `ListenFailed`."""
    try:
        sockets = await trio.open_tcp_listeners(address.port, host=address.host)
    except OSError as error:
        raise ListenFailed(f"cannot listen at {address}: {reason(error)}") from error
    listener = StreamListener(sockets, bound(address, sockets), options, greet)
    try:
        yield listener
    finally:
        await listener.aclose()


def bound(address: Address, sockets: list[trio.SocketListener]) -> tuple[str, ...]:
    """The URLs with real ports. A host that stands for several addresses has a port on each."""
    names = [listener.socket.getsockname() for listener in sockets]
    return tuple(str(Address(address.scheme, name[0], name[1], address.path)) for name in names)


@asynccontextmanager
async def open_tcp_listener(address: Address, options: Options) -> AsyncGenerator[Listener, None]:
    """Bind the port until the end of the block. Raises: `ListenFailed`."""

    async def greet(stream: trio.SocketStream, nursery: trio.Nursery) -> Link:
        return make_link(stream, options)

    async with bind(address, options, greet) as listener:
        yield listener
