"""What one link still has to send: frames in order, bounded, with one writer."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import trio

HIGH_FRAMES: Final = 1024
HIGH_SIZE: Final = 4 << 20
"""Above either, followers of this link wait and nothing more is read from it. Four of the
largest frames of any protocol: a link that never reads costs this much and no more."""

BATCH_FRAMES: Final = 256
BATCH_SIZE: Final = 256 << 10
"""What one write takes: more gained nothing in frames per second when measured on a socket pair."""


class Outbox:
    """Frames on their way out. A barrier is an event that the writer waits for before it
    sends what stands behind it."""

    def __init__(self) -> None:
        self._items: deque[bytes | trio.Event] = deque()
        self._size = 0
        self._filled = trio.Event()
        self._emptied = trio.Event()
        self._sending = 0

    @property
    def full(self) -> bool:
        """Whether those who can should wait."""
        return len(self._items) >= HIGH_FRAMES or self._size >= HIGH_SIZE

    @property
    def idle(self) -> bool:
        """Whether everything was handed to the link."""
        return not self._items and not self._sending

    def put(self, frame: bytes) -> None:
        """Send `frame` behind all others. Never refuses: waiting is the caller's part."""
        self._items.append(frame)
        self._size += len(frame)
        self._filled.set()

    def put_all(self, frames: Sequence[bytes]) -> None:
        """As `put`, of several in order."""
        if frames:
            self._items.extend(frames)
            self._size += sum(map(len, frames))
            self._filled.set()

    def bar(self, event: trio.Event) -> None:
        """Send nothing that comes after this before `event` is set."""
        self._items.append(event)
        self._filled.set()

    async def take(self) -> list[bytes]:
        """The next frames to write, at least one. They count as being sent until `sent`."""
        while True:
            await self._first_frame()
            batch: list[bytes] = []
            size = 0
            while self._items and len(batch) < BATCH_FRAMES and size < BATCH_SIZE:
                item = self._items[0]
                if isinstance(item, trio.Event):
                    break
                batch.append(item)
                size += len(item)
                self._items.popleft()
            self._size -= size
            self._sending = len(batch)
            return batch

    async def _first_frame(self) -> None:
        while True:
            while not self._items:
                self._filled = trio.Event()
                await self._filled.wait()
            item = self._items[0]
            if not isinstance(item, trio.Event):
                return
            await item.wait()
            self._items.popleft()
            self._tell()

    def sent(self) -> None:
        """The frames of the last `take` are with the link."""
        self._sending = 0
        self._tell()

    def _tell(self) -> None:
        self._emptied.set()
        self._emptied = trio.Event()

    async def wait_room(self) -> None:
        """Wait until it is no longer full; a checkpoint only if it is."""
        while self.full:
            await self._emptied.wait()

    async def wait_idle(self) -> None:
        """Wait until everything was handed to the link."""
        while not self.idle:
            await self._emptied.wait()
