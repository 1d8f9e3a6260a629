"""One link over standard input and output: `stdio:`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    Dialer,
    DialFailed,
    Handler,
    Link,
    Listener,
    Opening,
    Options,
)
from fleetgate.transports.framing import make_framer
from fleetgate.transports.serving import log_report, serve_link
from fleetgate.transports.stream import StreamLink


class StdioLink(StreamLink):
    """Frames over two file descriptors: pipes, terminals, files. They are duplicated; the
    originals stay open and are as they were once the link is closed.

    While it lives they do not block, and neither does any other descriptor of the same open
    file: where standard error is the same terminal or pipe, a writer to it must be ready for
    `BlockingIOError`.
    """

    def __init__(self, options: Options, descriptors: tuple[int, int] = (0, 1)) -> None:
        # Noted for both before either is changed: at a terminal both are one open file, and
        # what the second would find is what the first has made of it.
        blocking = [os.get_blocking(number) for number in descriptors]
        reading, writing = map(_duplicate, descriptors, blocking)
        super().__init__(
            trio.StapledStream(writing, reading),
            make_framer(options.framing, options.limit),
            Opening(peer="stdio"),
            close_timeout=options.close_timeout,
        )


def _duplicate(number: int, blocking: bool) -> trio.lowlevel.FdStream:
    copy = os.dup(number)
    os.set_blocking(copy, blocking)  # which the stream notes, and restores when it is closed
    return trio.lowlevel.FdStream(copy)


class StdioDialer(Dialer):
    """Hands out the one link there is, once."""

    def __init__(self, address: Address, options: Options) -> None:
        self.address = str(address)
        self._options = options
        self._used = False

    async def dial(self) -> Link:
        await trio.lowlevel.checkpoint()
        if self._used:
            raise DialFailed("standard input and output can be dialled only once")
        self._used = True
        return StdioLink(self._options)


class StdioListener(Listener):
    """Serves the one link there is; `serve` returns when it has ended."""

    def __init__(self, address: Address, options: Options) -> None:
        self.addresses = (str(address),)
        self._options = options
        self._open = True

    async def serve(self, handler: Handler) -> None:
        await trio.lowlevel.checkpoint()
        if self._open:
            self._open = False
            await serve_link(StdioLink(self._options), handler, self._options.report or log_report)

    async def aclose(self) -> None:
        self._open = False
        await trio.lowlevel.checkpoint()


@asynccontextmanager
async def open_stdio_listener(address: Address, options: Options) -> AsyncGenerator[Listener, None]:
    """Standard input and output as a listener of one link."""
    listener = StdioListener(address, options)
    try:
        yield listener
    finally:
        await listener.aclose()
