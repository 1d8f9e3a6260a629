"""Whether a link is read: not while its adapter has asked for a pause, and not while there is no
room for what a frame may bring about."""

from __future__ import annotations

import trio

from fleetgate.gateway.asking import Asking
from fleetgate.gateway.outbox import Outbox


class Gate:
    """One link's. Open at first."""

    def __init__(self, outbox: Outbox, asking: Asking) -> None:
        self._outbox = outbox
        self._asking = asking
        self._paused: trio.Event | None = None

    def pause(self) -> None:
        """Take nothing more until `resume`. Repeating it changes nothing."""
        if self._paused is None:
            self._paused = trio.Event()

    def resume(self) -> None:
        """Take frames again."""
        if self._paused is not None:
            self._paused.set()
            self._paused = None

    @property
    def open(self) -> bool:
        """Whether one more frame may be taken: not paused, and room everywhere."""
        return self._paused is None and not (self._outbox.full or self._asking.full)

    async def wait(self) -> None:
        """Wait until one more frame may be taken; a checkpoint only if it may not."""
        while not self.open:
            if self._paused is not None:
                await self._paused.wait()
            elif self._outbox.full:
                await self._outbox.wait_room()
            else:
                await self._asking.wait_answer()
