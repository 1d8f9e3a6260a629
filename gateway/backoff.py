"""How long to wait before dialling again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FIRST: Final = 1.0
CAP: Final = 30.0
"""Seconds: what the specs of rvbox and iop both name."""


class Backoff:
    """Exponential, with full jitter applied after the cap and from the first retry on, so
    that a fleet that lost its server in one second does not return in one second.

    `random` draws from [0, 1).
    """

    def __init__(
        self, random: Callable[[], float], *, first: float = FIRST, cap: float = CAP
    ) -> None:
        self._random = random
        self._first = first
        self._cap = cap
        self._tries = 0

    def reset(self) -> None:
        """The last dial came to something."""
        self._tries = 0

    def next(self) -> float:
        """Seconds until the next try."""
        # 2**20 seconds is far beyond any cap; a larger power would only grow the integer.
        reach = min(self._cap, self._first * (1 << min(self._tries, 20)))
        self._tries += 1
        return self._random() * reach
