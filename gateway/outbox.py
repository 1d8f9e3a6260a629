"""What one link still has to send: frames in order, bounded, with one writer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, cast

import trio

from fleetgate.transports.api import Pack

HIGH_FRAMES: Final = 1024
"""Frames that wait to be sent. At it followers of this link wait, and nothing more is read from
it."""

HIGH_SIZE: Final = 4 << 20
"""Bytes of the same. Four of the largest frames of any protocol: a link that never reads costs this
much and no more."""

BATCH_FRAMES: Final = 256
"""Frames that one write takes."""

BATCH_SIZE: Final = 256 << 10
"""Bytes that one write takes, or one frame: more gained nothing in frames per second when measured
on a socket pair."""


def _nobody() -> None:
    """Nobody writes yet."""


class Outbox:
    """Frames on their way out. A barrier is an event that the writer waits for before it
    sends what stands behind it."""

    __slots__ = ("_bars", "_emptied", "_items", "_pack", "_sending", "_size", "filled")

    def __init__(self) -> None:
        self.filled: Callable[[], None] = _nobody
        """Called each time that something was put."""
        # A deque that is empty takes as much as a task.
        self._items: list[bytes | trio.Event] = []
        self._pack: Pack | None = None
        """What waits, while that is one pack and nothing else: a link may have it at hand as it
        goes on the wire."""
        self._size = 0
        self._bars = 0
        self._emptied: trio.Event | None = None
        self._sending = 0

    @property
    def full(self) -> bool:
        """Whether those who can should wait."""
        return self._size >= HIGH_SIZE or self._count >= HIGH_FRAMES

    @property
    def empty(self) -> bool:
        """Whether there is nothing to take, and no barrier either."""
        return not self._count

    @property
    def idle(self) -> bool:
        """Whether everything was handed to the link."""
        return not self._count and not self._sending

    @property
    def _count(self) -> int:
        return len(self._items) if self._pack is None else len(self._pack)

    def _unpacked(self) -> list[bytes | trio.Event]:
        """What waits, one by one."""
        if self._pack is not None:
            self._items.extend(self._pack)
            self._pack = None
        return self._items

    def put(self, frame: bytes) -> None:
        """Send `frame` behind all others. Never refuses: waiting is the caller's part."""
        self._unpacked().append(frame)
        self._size += len(frame)
        self.filled()

    def put_all(self, frames: Sequence[bytes]) -> None:
        """As `put`, of several in order."""
        if not frames:
            return
        if isinstance(frames, Pack):
            self._size += frames.size
            if self._count:
                self._unpacked().extend(frames)
            else:
                self._pack = frames
        else:
            self._unpacked().extend(frames)
            self._size += sum(map(len, frames))
        self.filled()

    def bar(self, event: trio.Event) -> None:
        """Send nothing that comes after this before `event` is set."""
        self._unpacked().append(event)
        self._bars += 1
        self.filled()

    async def take(self) -> Sequence[bytes]:
        """The next frames to write; none where there are none. They count as being sent until
        `sent`. Waits for the barriers in front of them, and for nothing else."""
        if self._bars:
            await self._pass_bars()
        whole = self._count <= BATCH_FRAMES and self._size <= BATCH_SIZE
        batch = self._all() if whole and not self._bars else self._some()
        self._sending = len(batch)
        return batch

    def _all(self) -> Sequence[bytes]:
        """All that waits, which is what a write takes: nearly always."""
        self._size = 0
        if self._pack is not None:
            pack, self._pack = self._pack, None
            return pack
        batch = cast("list[bytes]", self._items)
        self._items = []
        return batch

    def _some(self) -> list[bytes]:
        """What a write takes of it, up to a barrier."""
        batch: list[bytes] = []
        size = 0
        items = self._unpacked()
        for item in islice(items, BATCH_FRAMES):
            if size >= BATCH_SIZE or isinstance(item, trio.Event):
                break
            batch.append(item)
            size += len(item)
        del items[: len(batch)]
        self._size -= size
        return batch

    async def _pass_bars(self) -> None:
        while self._items and isinstance(bar := self._items[0], trio.Event):
            await bar.wait()
            del self._items[0]
            self._bars -= 1
            self._tell()

    def sent(self) -> None:
        """The frames of the last `take` are with the link."""
        self._sending = 0
        self._tell()

    def _tell(self) -> None:
        if self._emptied is not None:
            self._emptied.set()
            self._emptied = None

    async def _less(self) -> None:
        if self._emptied is None:
            self._emptied = trio.Event()
        await self._emptied.wait()

    async def wait_room(self) -> None:
        """Wait until it is no longer full; a checkpoint only if it is."""
        while self.full:
            await self._less()

    async def wait_idle(self) -> None:
        """Wait until everything was handed to the link."""
        while not self.idle:
            await self._less()
