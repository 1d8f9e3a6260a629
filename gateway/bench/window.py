"""How far a load host runs ahead of its acknowledgements."""

from __future__ import annotations

from typing import Final

import trio

WINDOW: Final = 1024
"""Events sent and not acknowledged. A host keeps each until it is acknowledged, so every real
one has such a bound; a subject acknowledges every 64 events, so this one never starves it."""


class Window:
    """Counts events by number, from 1 on."""

    def __init__(self, size: int = WINDOW) -> None:
        self._size = size
        self._sent = 0
        self._acknowledged = 0
        self._moved = trio.Event()

    def sent(self, through: int) -> None:
        """Events up to `through` are out."""
        self._sent = through

    def acknowledge(self, through: int) -> None:
        """Events up to `through` are the subject's now."""
        self._acknowledged = max(self._acknowledged, through)
        self._moved.set()
        self._moved = trio.Event()

    async def room(self) -> int:
        """Wait until at least one more event may go out, and answer how many may."""
        while self._sent - self._acknowledged >= self._size:
            await self._moved.wait()
        return self._size - (self._sent - self._acknowledged)
