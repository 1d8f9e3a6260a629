"""A link that tells what crosses it, for those who look on: frames with direction and time.

A tap changes nothing of what it carries. It stands next to the wire: faults go around it, so that
what is told is what the peer was sent. Where nobody looks on there is no tap, and no cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.transports.api import Link, LinkBroken, LinkError, LinkStatistics, PeerClosed
from fleetgate.transports.faults import Trickling, Way

KEPT_FRAMES: Final = 4096
KEPT_BYTES: Final = 16 << 20
"""What `Frames` keeps unless told otherwise: a long test's conversation, and four of the largest
frames of any protocol."""


@attrs.frozen(slots=True)
class Crossed:
    """A frame that crossed. `time` is trio's clock, in seconds. One that goes out is told before
    it is sent, so that no answer to it is told first; where it then could not be sent, the link's
    end follows, or nothing does (`FrameRefused`)."""

    way: Way
    time: float
    frame: bytes = attrs.field(repr=False)


@attrs.frozen(slots=True)
class Over:
    """Nothing more crosses this way: the peer has ended (`in`), or we have (`out`). `code` is a
    close code, or a gRPC status where the carriage has those; None: it ended in order, or there was
    none. `broken`: it did not end in order. `no_frame`: what came was no frame, and
    `reason` says why without repeating anything of it."""

    way: Way
    time: float
    code: int | None = None
    reason: str = ""
    broken: bool = False
    no_frame: bool = False


Crossing: TypeAlias = Crossed | Over
Tell: TypeAlias = Callable[[Crossing], None]
"""Told of everything that crosses, in order. It must not raise, nor wait."""


class Frames:
    """The newest crossings of a link, or of several; a `Tell`. The oldest go first: `left_out`
    counts them."""

    def __init__(self, frames: int = KEPT_FRAMES, size: int = KEPT_BYTES) -> None:
        self._most = frames
        self._most_bytes = size
        self._kept: deque[Crossing] = deque()
        self._size = 0
        self.left_out = 0

    def __call__(self, crossing: Crossing) -> None:
        self._kept.append(crossing)
        self._size += _size(crossing)
        while len(self._kept) > self._most or self._size > self._most_bytes:
            self._size -= _size(self._kept.popleft())
            self.left_out += 1

    def __iter__(self) -> Iterator[Crossing]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)


def _size(crossing: Crossing) -> int:
    return len(crossing.frame) if isinstance(crossing, Crossed) else 0


class TappedLink(Link):
    """A link of any carriage, and somebody who looks on."""

    def __init__(self, link: Link, tell: Tell) -> None:
        self.link = link
        self.opening = link.opening
        self.speaks_status = link.speaks_status
        self._tell = tell
        self._over: set[Way] = set()

    async def receive_some(self) -> Sequence[bytes]:
        try:
            frames = await self.link.receive_some()
        except (trio.EndOfChannel, LinkBroken) as error:
            self._peer_ended(error)
            raise
        for frame in frames:
            self._crossed("in", frame)
        return frames

    async def receive(self) -> bytes:
        try:
            frame = await self.link.receive()
        except (trio.EndOfChannel, LinkBroken) as error:
            self._peer_ended(error)
            raise
        self._crossed("in", frame)
        return frame

    async def send_some(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            self._crossed("out", frame)
        try:
            await self.link.send_some(frames)
        except LinkBroken as error:
            self._peer_ended(error)
            raise

    async def send_eof(self) -> bool:
        said = await self.link.send_eof()
        if said:
            self._end("out", None, "", broken=False)
        return said

    async def close(self, code: int | None, reason: str = "") -> None:
        self._end("out", code, reason, broken=code is None)
        await self.link.close(code, reason)

    async def wait_over(self) -> None:
        await self.link.wait_over()

    def statistics(self) -> LinkStatistics:
        return self.link.statistics()

    def trickle(self, piece: int | None) -> None:
        """As the link's own, where it has bytes."""
        if isinstance(self.link, Trickling):
            self.link.trickle(piece)

    def _crossed(self, way: Way, frame: bytes) -> None:
        self._tell(Crossed(way, trio.current_time(), bytes(frame)))

    def _peer_ended(self, error: trio.EndOfChannel | LinkError) -> None:
        if isinstance(error, LinkBroken):
            self._end("in", error.code, str(error), broken=True, no_frame=error.no_frame)
        else:
            code = error.code if isinstance(error, PeerClosed) else None
            self._end("in", code, "", broken=False)

    def _end(
        self, way: Way, code: int | None, reason: str, *, broken: bool, no_frame: bool = False
    ) -> None:
        if way not in self._over:
            self._over.add(way)
            self._tell(Over(way, trio.current_time(), code, reason, broken, no_frame))
