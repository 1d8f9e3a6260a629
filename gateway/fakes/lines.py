"""Standard input and output as JSON lines, whatever kind of file they are."""

from __future__ import annotations

import os
from typing import Final, Protocol

import trio

from fleetgate.gateway.recording.backlog import write_all
from fleetgate.gateway.render import Line, encode

MAX_LINE: Final = 64 << 20
"""Bytes of one line that comes in: a control plane's frames may be over 4 MiB, and their
base64 with the JSON around it must fit."""

READ: Final = 1 << 16


class TooLong(Exception):
    """A line was above `MAX_LINE`. It was passed over to its end."""


class OutputLost(OSError):
    """Lines cannot be written. `unread`: since nobody reads them any more."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"its standard output cannot be written: {cause.strerror}")
        self.unread = isinstance(cause, BrokenPipeError)


class LineReader:
    """Reads lines from a file descriptor in a thread: a pipe, a terminal, a file, /dev/null.

    A thread that waits in `os.read` holds no lock of Python's, so it may be left behind.
    """

    def __init__(self, fd: int = 0, limit: int = MAX_LINE) -> None:
        self._fd = fd
        self._limit = limit
        self._rest = bytearray()
        self._skipping = False
        self._over = False

    async def next(self) -> bytes | None:
        """The next line without its end; None at the end of the input.

        Raises: `TooLong`. Cancelled, what was read meanwhile is lost: for the end only.
        """
        start = 0
        while True:
            end = self._rest.find(b"\n", start)
            if end >= 0:
                return self._take(end)
            start = len(self._rest)
            if start > self._limit:
                self._skipping = True
                self._rest.clear()
                start = 0
            if self._over:
                return self._take(len(self._rest)) if self._rest else None
            self._add(await trio.to_thread.run_sync(self._read, abandon_on_cancel=True))

    def _take(self, end: int) -> bytes:
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        if self._skipping or len(line) > self._limit:
            self._skipping = False
            raise TooLong(f"a line may have {self._limit} bytes")
        return line

    def _read(self) -> bytes:
        return os.read(self._fd, READ)

    def _add(self, data: bytes) -> None:
        self._rest += data
        self._over = not data


class Writer(Protocol):
    """Takes objects: standard output, or whoever drives the fake from Python."""

    async def write(self, *lines: Line) -> None:
        """Take the objects, in order."""
        ...


class LineWriter:
    """Writes objects, each whole and flushed, in the order in which `write` was called."""

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self._lock = trio.Lock()

    async def write(self, *lines: Line) -> None:
        """Write the objects. Cancelled, they are written all the same, if the reader reads.

        Raises: `OutputLost`.
        """
        await self.write_encoded(b"".join(map(encode, lines)))

    async def write_encoded(self, data: bytes) -> None:
        """The same for objects that are encoded already, each with its newline."""
        async with self._lock:
            try:
                await trio.to_thread.run_sync(write_all, self._fd, data)
            except OSError as error:
                raise OutputLost(error) from None
