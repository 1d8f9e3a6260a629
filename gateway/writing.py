"""The one task that writes to a link: what its outbox holds, within the time that a peer has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import trio

from fleetgate.gateway.outbox import Outbox
from fleetgate.transports.api import FrameRefused, Link, LinkError

SEND_WITHIN: Final = 60.0
"""Seconds that one write may take before the peer counts as gone: as long as the most
patient protocol lets a link be silent."""

CLOSE_WITHIN: Final = 5.0
"""Seconds to send what is left when a link closes."""


class Writer:
    """Writes until something goes wrong, and says what by `broken`, once. `read_over` is set when
    nothing more comes. With `frame_within`, frames are written one at a time, and each has so many
    seconds; without it a whole batch has `SEND_WITHIN`."""

    def __init__(
        self,
        link: Link,
        outbox: Outbox,
        read_over: trio.Event,
        broken: Callable[[str], None],
        frame_within: float | None = None,
    ) -> None:
        self._link = link
        self._outbox = outbox
        self._read_over = read_over
        self._broken = broken
        self._frame_within = frame_within

    async def run(self) -> None:
        """Write, until the link takes no more. Cancelled only when the link itself ends, for a
        frame that is cut ends it (`Link`)."""
        while True:
            frames = await self._outbox.take()
            for some in self._portions(frames):
                why = await self._write(some)
                if why is not None:
                    self._broken(why)
                    return
            self._outbox.sent()

    def _portions(self, frames: Sequence[bytes]) -> Sequence[Sequence[bytes]]:
        return [frames] if self._frame_within is None else [(frame,) for frame in frames]

    async def _write(self, frames: Sequence[bytes]) -> str | None:
        within = SEND_WITHIN if self._frame_within is None else self._frame_within
        try:
            with trio.move_on_after(within) as scope:
                await self._link.send_some(frames)
        except FrameRefused as error:
            return str(error)
        except LinkError as error:
            # Nothing more can be sent. What the peer sent before is taken all the same.
            with trio.move_on_after(CLOSE_WITHIN):
                await self._read_over.wait()
            return str(error)
        return f"the peer took nothing for {within:g} s" if scope.cancelled_caught else None
