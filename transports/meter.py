"""Counting what crosses a link."""

from __future__ import annotations

import trio

from fleetgate.transports.api import LinkStatistics


class Meter:
    """The figures of one link, as they grow. Times are trio's."""

    __slots__ = ("bytes_in", "bytes_out", "frames_in", "frames_out", "last_in", "last_out")

    def __init__(self) -> None:
        self.bytes_in = self.bytes_out = self.frames_in = self.frames_out = 0
        self.last_in: float | None = None
        self.last_out: float | None = None

    def received(self, frames: int, size: int) -> None:
        """Whole frames came, in so many bytes; either may be 0."""
        self.frames_in += frames
        self.bytes_in += size
        if size or frames:
            self.last_in = trio.current_time()

    def sent(self, frames: int, size: int) -> None:
        """Frames, or a part of one, went out."""
        self.frames_out += frames
        self.bytes_out += size
        self.last_out = trio.current_time()

    def snapshot(self) -> LinkStatistics:
        """The figures so far."""
        return LinkStatistics(
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            frames_in=self.frames_in,
            frames_out=self.frames_out,
            last_in=self.last_in,
            last_out=self.last_out,
        )
