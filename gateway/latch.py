"""What happens once, and is waited for now and then."""

from __future__ import annotations

import trio


class Latch:
    """A `trio.Event` that is made where somebody waits. One keeps a set of tasks, 270 bytes; each
    link has several that are set when it ends, and for which hardly anybody waits before that."""

    __slots__ = ("_event", "_happened")

    def __init__(self) -> None:
        self._happened = False
        self._event: trio.Event | None = None

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._happened

    def set(self) -> None:
        """It has happened. Saying it again changes nothing."""
        self._happened = True
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        """Wait until it has happened; a checkpoint where it has. For any number of tasks."""
        if self._happened:
            await trio.lowlevel.checkpoint()
            return
        if self._event is None:
            self._event = trio.Event()
        await self._event.wait()
