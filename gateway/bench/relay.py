"""The relay: joins a Unix socket and a WebSocket, and knows nothing of what they carry.

`python -m fleetgate.gateway.bench.relay SOCKET KIND`. It takes one link at each end and copies
frames both ways: no parsing, no journal. A WebSocket message becomes a frame of kind 0 with the
same bytes, and the reverse. A plain relay reads a frame and writes a frame; the other one writes
together what came together, as the gateway does.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import trio

from fleetgate.gateway.bench.links import CLIENT, HOST, TEXT
from fleetgate.gateway.bench.subjects import Kind
from fleetgate.transports.api import Link, Listener
from fleetgate.transports.open import open_listener


def to_socket(message: bytes) -> bytes:
    """A WebSocket message as a frame of the Unix socket."""
    return TEXT + message


def to_message(frame: bytes) -> bytes:
    """A frame of the Unix socket as a WebSocket message."""
    return frame[1:]


Change: TypeAlias = Callable[[bytes], bytes]
"""Makes a frame for one end of a frame of the other."""

Copy: TypeAlias = Callable[[Link, Link, Change], Awaitable[None]]
"""Sends on what comes from the first link, until that ends."""


async def copy(source: Link, target: Link, change: Change) -> None:
    """Send on what comes, and together what came together, until the source ends.

    Raises: `LinkError`. Cancelled, a frame may be lost.
    """
    try:
        while True:
            await target.send_some([change(frame) for frame in await source.receive_some()])
    except trio.EndOfChannel:
        return


async def copy_singly(source: Link, target: Link, change: Change) -> None:
    """Read a frame, write a frame, until the source ends.

    Raises: `LinkError`. Cancelled, a frame may be lost.
    """
    try:
        while True:
            await target.send(change(await source.receive()))
    except trio.EndOfChannel:
        return


COPIES: Final[Mapping[Kind, Copy]] = {Kind.RELAY: copy, Kind.PLAIN: copy_singly}


async def join(socket: Link, message: Link, copy: Copy = copy) -> None:
    """Copy both ways until either end ends."""

    async def one_way(source: Link, target: Link, change: Change) -> None:
        await copy(source, target, change)
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one_way, socket, message, to_message)
        nursery.start_soon(one_way, message, socket, to_socket)


async def relay(socket: Listener, message: Listener, copy: Copy = copy) -> None:
    """Take one link at each listener, and join them."""
    put, get = trio.open_memory_channel[tuple[int, Link]](0)
    over = trio.Event()

    async def hand_over(end: int, link: Link) -> None:
        await put.send((end, link))
        await over.wait()

    async with trio.open_nursery() as nursery:
        for end, listener in enumerate((socket, message)):
            nursery.start_soon(listener.serve, partial(hand_over, end))
        links = dict([await get.receive(), await get.receive()])
        await join(links[0], links[1], copy)
        over.set()
        nursery.cancel_scope.cancel()


async def _main(path: str, kind: Kind) -> None:
    async with (
        open_listener(f"unix:{path}", CLIENT) as socket,
        open_listener("ws://127.0.0.1:0", HOST) as message,
    ):
        sys.stdout.write(f"{message.addresses[0]}\n")
        sys.stdout.flush()
        await relay(socket, message, COPIES[kind])


def main(args: Sequence[str]) -> None:
    """Run a relay."""
    path, kind = args
    trio.run(_main, path, Kind(kind))


if __name__ == "__main__":
    main(sys.argv[1:])
