"""Lines that wait for whoever reads a fake's output: bounded, the oldest of them go first."""

from __future__ import annotations

from collections import deque
from typing import Final

import attrs
import trio

from fleetgate.gateway.render import Line, encode

MOST_BYTES: Final = 32 << 20
"""All that waits in one fake: eight of the largest messages of any protocol."""


@attrs.define
class Budget:
    """Bytes that several have together."""

    limit: int = MOST_BYTES
    used: int = 0


class Unread:
    """Lines of one kind, at most `most`, of a budget that is shared. One line is always kept."""

    def __init__(self, most: int, budget: Budget) -> None:
        self._most = most
        self._budget = budget
        self._lines: deque[tuple[Line, int]] = deque()
        self._woken = trio.Event()
        self.left_out = 0

    def put(self, line: Line) -> None:
        """Add a line. Never blocks."""
        size = len(encode(line))
        while self._lines and self._is_full(size):
            self._drop()
            self.left_out += 1
        self._lines.append((line, size))
        self._budget.used += size
        self.wake()

    def _is_full(self, size: int) -> bool:
        return len(self._lines) >= self._most or self._budget.used + size > self._budget.limit

    def _drop(self) -> Line:
        line, size = self._lines.popleft()
        self._budget.used -= size
        return line

    def take(self) -> list[Line]:
        """All that waits."""
        return [self._drop() for _ in range(len(self._lines))]

    def wake(self) -> None:
        """Wake whoever waits."""
        self._woken.set()
        self._woken = trio.Event()

    async def wait(self) -> None:
        """Wait for a line, or to be woken; not at all where there is one."""
        if not self._lines:
            await self._woken.wait()
