"""Links of the two ends of a pair that take making and reading of frames out of what is measured.

The worker's end speaks as ever, and its frames are kept: what is measured is how they are poured
out. The controller's end counts what comes, and reads it once that is over. So a bridge has the
same load as a relay: one that sends frames and counts frames.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.transports.api import Link, LinkStatistics


class _Passing(Link):
    """A link that is as the one in it."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.opening = link.opening
        self.speaks_status = link.speaks_status

    async def receive_some(self) -> Sequence[bytes]:
        return await self.link.receive_some()

    async def receive(self) -> bytes:
        return await self.link.receive()

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await self.link.send_some(frames)

    async def close(self, code: int | None, reason: str = "") -> None:
        await self.link.close(code, reason)

    async def wait_over(self) -> None:
        await self.link.wait_over()

    def statistics(self) -> LinkStatistics:
        return self.link.statistics()


class Dam(_Passing):
    """Keeps what goes out, from `shut` on."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self.kept: list[bytes] = []
        """What went out since `shut`, in order."""
        self._shut = False

    def shut(self) -> None:
        """From here on nothing goes out by itself."""
        self._shut = True

    async def send_some(self, frames: Sequence[bytes]) -> None:
        if not self._shut:
            await super().send_some(frames)
            return
        await trio.lowlevel.checkpoint()
        self.kept.extend(frames)

    async def pour(self, at_once: int) -> None:
        """Send all that was kept, and what comes meanwhile, so many frames in a write."""
        sent = 0
        while sent < len(self.kept):
            some = self.kept[sent : sent + at_once]
            await self.link.send_some(some)
            sent += len(some)
        self.kept.clear()
        self._shut = False


class Basin(_Passing):
    """Takes in what comes, from `fill` on, and gives it out once the last of it is there."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._awaited: set[bytes] = set()
        self._full: Callable[[], None] | None = None

    def fill(self, runs: int, full: Callable[[], None]) -> None:
        """Hold everything back until the last text of each run has come, and tell."""
        self._awaited, self._full = {mark_of(nth) for nth in range(runs)}, full

    async def receive_some(self) -> Sequence[bytes]:
        frames = await self.link.receive_some()
        if self._full is None:
            return frames
        held = list(frames)
        self._look(frames)
        while self._awaited:
            frames = await self.link.receive_some()
            held.extend(frames)
            self._look(frames)
        self._full()
        self._full = None
        return held

    def _look(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            if MARK in frame:
                self._awaited.difference_update(_MARKED.findall(frame))


MARK: Final = b"~last-"
"""How the last text of a run begins, in every protocol: as text it needs no escape."""

_MARKED: Final = re.compile(MARK + rb"[0-9]{5}~")


def mark_of(nth: int) -> bytes:
    """That of one of several runs."""
    return MARK + b"%05d~" % nth
