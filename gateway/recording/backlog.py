"""Lines on their way to somebody slow: a disk, a reader of our output."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Final

import trio

LINES: Final = 65_536
"""Lines that wait: a burst of some seconds. More are left out and counted."""

SIZE: Final = 64 << 20
"""Bytes of the same, a few of the largest frames that there are. More is left out and counted:
whoever looks on must not hold up what is looked at."""


class Backlog:
    """Encoded lines that wait, bounded in lines and bytes. `gap` makes the line that stands where
    so many are left out."""

    def __init__(self, gap: Callable[[int], bytes], lines: int = LINES, size: int = SIZE) -> None:
        self._gap = gap
        self._most = lines
        self._most_bytes = size
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._missing = 0
        self._filled = trio.Event()
        self._over = False
        self.left_out = 0
        """Lines that found no room, all together."""

    def __len__(self) -> int:
        return len(self._lines)

    def put(self, line: bytes) -> bool:
        """Add a line; False where there is no room for it."""
        lines = [self._gap(self._missing), line] if self._missing else [line]
        size = sum(map(len, lines))
        if len(self) + len(lines) > self._most or self._size + size > self._most_bytes:
            self._missing += 1
            self.left_out += 1
            return False
        self._missing = 0
        self._lines.extend(lines)
        self._size += size
        self._filled.set()
        return True

    def end(self) -> None:
        """No more come: `take` answers nothing once all that waits was taken."""
        self._over = True
        self._filled.set()

    async def take(self) -> bytes:
        """All that waits, at least one line; nothing at the end. Cancelled, it takes nothing."""
        while not self._lines and not self._over:
            self._filled = trio.Event()
            await self._filled.wait()
        await trio.lowlevel.checkpoint_if_cancelled()
        data = b"".join(self._lines)
        self._lines.clear()
        self._size = 0
        return data


def write_all(fd: int, data: bytes) -> None:
    """Write to a file descriptor, all of it.

    Raises: `OSError`.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
