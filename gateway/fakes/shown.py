"""What pytest shows of the fakes of a test that failed.

Nothing is imported here but the standard library: the pytest plugin loads this module in every
test session of everybody who has fleetgate installed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import Final, Protocol

MOST_FAKES: Final = 64
"""Fakes of one test that are shown, the newest: what few tests have, and few people would read."""


class Shown(Protocol):
    """A fake or a replay, as far as it is shown."""

    def heading(self) -> str:
        """What is told of it and where it is, in a line."""
        ...

    def lines(self, since: int, whole: bool) -> list[str]:
        """What is to be told of it since an instant (Unix nanoseconds), a line each; `whole`:
        however long they are."""
        ...

    @property
    def over(self) -> bool:
        """Whether it is closed."""
        ...


class Board:
    """The fakes that are open or were opened in the test that runs. It keeps none until `keep`."""

    def __init__(self) -> None:
        self._fakes: deque[Shown] = deque(maxlen=MOST_FAKES)
        self._keeps = False
        self._whole = False
        self._since = 0

    def keep(self, *, whole: bool = False) -> None:
        """Keep the fakes that are opened from now on. `whole`: show their lines at full length."""
        self._keeps = True
        self._whole = whole

    def add(self, fake: Shown) -> None:
        """A fake is opened."""
        if self._keeps:
            self._fakes.append(fake)

    def begin(self) -> None:
        """A test begins: of what happened before nothing is shown."""
        if self._fakes:
            still = [fake for fake in self._fakes if not fake.over]
            self._fakes.clear()
            self._fakes.extend(still)
        self._since = time.time_ns()

    def sections(self) -> Iterator[tuple[str, str]]:
        """Heading and text of each that has something to show."""
        for fake in tuple(self._fakes):
            if lines := fake.lines(self._since, self._whole):
                yield fake.heading(), "\n".join(lines)


BOARD: Final = Board()
"""The one of this process: tests run one after the other."""
