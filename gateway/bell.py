"""What one task waits for, and others ring: an event that can be waited for again and again."""

from __future__ import annotations

import trio


class Bell:
    """A `trio.Event` keeps a set of tasks and is made anew for every wait. Each link has several of
    these, and they ring once for each batch: this takes a seventh of the memory."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: trio.lowlevel.Task | None = None

    async def wait(self) -> None:
        """Wait until it rings from now on. For one task at a time: another one must not come."""
        if self._waiting is not None:
            raise trio.BusyResourceError("another task waits for this bell")
        self._waiting = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._cancelled)

    def _cancelled(self, _: object) -> trio.lowlevel.Abort:
        self._waiting = None
        return trio.lowlevel.Abort.SUCCEEDED

    def ring(self) -> None:
        """Wake who waits. Where nobody does, nothing happens."""
        task, self._waiting = self._waiting, None
        if task is not None:
            trio.lowlevel.reschedule(task)
