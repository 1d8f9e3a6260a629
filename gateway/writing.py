"""The one task that writes to a link what its outbox holds, within the time that a peer has. It is
there while there is something to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.core.timers import Clock, Timer
from fleetgate.core.times import nanos
from fleetgate.gateway.alarm import At
from fleetgate.gateway.bell import Bell
from fleetgate.gateway.latch import Latch
from fleetgate.gateway.outbox import Outbox
from fleetgate.transports.api import FrameRefused, Link, LinkError

SEND_WITHIN: Final = 60.0
"""Seconds that one write may take before the peer counts as gone: as long as the most
patient protocol lets a link be silent."""

CLOSE_WITHIN: Final = 5.0
"""Seconds to send what is left when a link closes."""

LINGER: Final = 0.2
"""Seconds that a writer stays at least when all is written, and twice that at most. To begin one
takes some 20 µs, so a busy link keeps its own; while it waits it takes 2 KiB, and most links are
idle."""


class Writer:
    """Writes from `start` on, until `stop` or until something goes wrong, which it tells `broken`,
    once. `read_over` is set when nothing more comes. With `frame_within`, frames are written one at
    a time, and each has so many seconds; without it a whole batch has `SEND_WITHIN`."""

    __slots__ = (
        "_at",
        "_bell",
        "_broken",
        "_clock",
        "_frame_within",
        "_link",
        "_lull",
        "_nursery",
        "_outbox",
        "_quiet",
        "_read_over",
        "_rests",
    )

    def __init__(
        self,
        link: Link,
        outbox: Outbox,
        read_over: Latch,
        broken: Callable[[str], None],
        clock: Clock,
        at: At,
        frame_within: float | None = None,
    ) -> None:
        self._link = link
        self._outbox = outbox
        self._read_over = read_over
        self._broken = broken
        self._clock = clock
        self._at = at
        self._frame_within = frame_within
        self._nursery: trio.Nursery | None = None
        self._bell: Bell | None = None
        """Rings for the task, while there is one."""
        self._lull: Timer | None = None
        """When it is looked whether the task is needed still."""
        self._quiet = False
        """Whether nothing was written since that was set."""
        self._rests = False
        """Whether the task is to end once all is written."""

    def start(self, nursery: trio.Nursery) -> None:
        """Write in `nursery`, one task at a time. It is cancelled only when the link itself ends,
        for a frame that is cut ends it (`Link`)."""
        self._nursery = nursery
        self._outbox.filled = self._wake
        if not self._outbox.empty:
            self._wake()

    def stop(self) -> None:
        """Begin no task any more: the link is over."""
        self._nursery = None

    def _wake(self) -> None:
        if self._bell is not None:
            self._bell.ring()
        elif self._nursery is not None:
            self._bell = Bell()
            self._nursery.start_soon(self._run, self._bell)

    async def _run(self, bell: Bell) -> None:
        rested = False
        try:
            while True:
                while self._outbox.empty:
                    if self._rests:
                        rested = True
                        return
                    self._linger()
                    await bell.wait()
                self._rests = self._quiet = False
                for frames in self._portions(await self._outbox.take()):
                    why = await self._write(frames)
                    if why is not None:
                        self._broken(why)
                        return
                self._outbox.sent()
        finally:
            self._bell = None
            if self._lull is not None:
                self._lull.cancel()
                self._lull = None
            if not rested:
                self.stop()  # what is put from here on stands behind half a frame, or a broken link

    def _linger(self) -> None:
        """Have it looked at in a while whether there was anything to write. One timer at a time:
        a link that is busy would else set one for each write."""
        if self._lull is None:
            self._quiet = True
            self._lull = self._at(self._clock() + nanos(LINGER), self._look)

    def _look(self) -> None:
        self._lull = None
        if not self._quiet:
            self._linger()
        elif self._bell is not None:
            self._rests = True
            self._bell.ring()

    def _portions(self, frames: Sequence[bytes]) -> Sequence[Sequence[bytes]]:
        if self._frame_within is None:
            return [frames] if frames else ()
        return [(frame,) for frame in frames]

    async def _write(self, frames: Sequence[bytes]) -> str | None:
        within = SEND_WITHIN if self._frame_within is None else self._frame_within
        try:
            rest = self._link.begin(frames)
            if rest is None:
                return None
            with trio.move_on_after(within) as scope:
                await rest
        except FrameRefused as error:
            return str(error)
        except LinkError as error:
            # Nothing more can be sent. What the peer sent before is taken all the same.
            with trio.move_on_after(CLOSE_WITHIN):
                await self._read_over.wait()
            return str(error)
        return f"the peer took nothing for {within:g} s" if scope.cancelled_caught else None
