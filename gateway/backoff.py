"""How long to wait before dialling again."""

from __future__ import annotations

from collections.abc import Callable

from fleetgate.protocols.carriage import Redial


class Backoff:
    """Exponential, with full jitter applied after the cap and from the first retry on, so
    that a fleet that lost its server in one second does not return in one second; without where
    the protocol has none.

    `random` draws from [0, 1).
    """

    def __init__(self, random: Callable[[], float], redial: Redial) -> None:
        self._random = random
        self._redial = redial
        self._tries = 0

    def reset(self) -> None:
        """The last dial came to something."""
        self._tries = 0

    def next(self) -> float:
        """Seconds until the next try."""
        # 2**20 seconds is far beyond any cap; a larger power would only grow the integer.
        reach = min(self._redial.cap, self._redial.first * (1 << min(self._tries, 20)))
        self._tries += 1
        return self._random() * reach if self._redial.jitter else reach
