"""How many lines of a log may come in a time: a peer that opens links and breaks them in a loop
has some lines for each, and must not fill a disk with them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

import attrs

BURST: Final = 1_000
"""Lines of one kind and of one entry that may come at once: those of a fleet that comes back. What
is above is left out and counted, and the next line that is written tells how many were."""

RATE: Final = 100
"""Lines of one kind and of one entry that are written in a second from there on, some thirty
kilobytes. The others are left out, as above `BURST`."""

KEPT: Final = 1_024
"""Budgets that are kept, one for each kind of line and entry. The one used longest ago goes first:
it is full again, or a config with a thousand entries is flooded at all of them."""


@attrs.define
class _Budget:
    """`lines` may be written, as of `at` in seconds; `left_out` were not since the last one was."""

    at: float
    lines: float = BURST
    left_out: int = 0


class LogRate:
    """Judges lines. `clock` is in seconds and never falls."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._budgets: OrderedDict[Hashable, _Budget] = OrderedDict()

    def take(self, of: Hashable) -> int | None:
        """A line of this kind comes. How many like it were left out since the last one that was
        written; None where this one is to be left out, too."""
        now = self._clock()
        budget = self._budgets.get(of)
        if budget is None:
            budget = self._budgets[of] = _Budget(now)
            if len(self._budgets) > KEPT:
                self._budgets.popitem(last=False)
        self._budgets.move_to_end(of)
        budget.lines = min(BURST, budget.lines + (now - budget.at) * RATE)
        budget.at = now
        if budget.lines < 1:
            budget.left_out += 1
            return None
        left_out, budget.left_out = budget.left_out, 0
        budget.lines -= 1
        return left_out
