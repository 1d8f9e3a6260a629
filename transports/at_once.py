"""A socket by fewer steps than trio's own: written to without waiting, for most writes fit into the
kernel's buffer, and read from with less kept while nothing comes."""

from __future__ import annotations

import os
from collections.abc import Awaitable

import trio


def write_at_once(stream: trio.abc.Stream, data: bytes | bytearray) -> int:
    """How many bytes the stream has taken: those at the start of `data`. 0 where it is no socket,
    or would make us wait, or fails, which the next `send_all` then says. Nobody else may be
    writing to it.

    trio's own way goes through six calls and a turn of the event loop: 9 µs where this takes one.
    """
    if type(stream) is not trio.SocketStream:
        return 0
    try:
        return os.write(stream.socket.fileno(), data)
    except OSError:
        return 0


def read_some(stream: trio.abc.Stream, size: int) -> Awaitable[bytes | bytearray]:
    """As `receive_some` of the stream. While a link waits in it, trio's own takes 1 KiB more: four
    calls in each other, one of them in a context of its own."""
    if type(stream) is not trio.SocketStream:
        return stream.receive_some(size)
    return _read_socket(stream.socket, size)


async def _read_socket(socket: trio.socket.SocketType, size: int) -> bytes:
    await trio.lowlevel.checkpoint_if_cancelled()
    data = _read_at_once(socket, size)
    if data is not None:
        await trio.lowlevel.cancel_shielded_checkpoint()
        return data
    while data is None:
        await trio.lowlevel.wait_readable(socket)
        data = _read_at_once(socket, size)
    return data


def _read_at_once(socket: trio.socket.SocketType, size: int) -> bytes | None:
    """What has come, and none of it where the peer sends no more. None: nothing has. Raises: as
    `trio.SocketStream.receive_some`."""
    try:
        return os.read(socket.fileno(), size)
    except BlockingIOError:
        return None
    except OSError as error:
        if socket.fileno() < 0:
            raise trio.ClosedResourceError("this socket was already closed") from None
        raise trio.BrokenResourceError(f"socket connection broken: {error}") from error


async def finish(rest: Awaitable[None] | None) -> None:
    """What is left of a `Link.begin`. Where that is nothing, other tasks have a turn all the
    same."""
    if rest is None:
        await trio.lowlevel.cancel_shielded_checkpoint()
    else:
        await rest
