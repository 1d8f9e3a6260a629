"""A disk that says nothing: neither that a commit is durable nor that it has failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

HUNG_AFTER: Final = 8.0
"""Seconds without the end of a commit while something is in line, after which the journal counts as
one that hangs: longer than a busy disk takes, and shorter than `Limits.answer_within`, so that of
the questions that wait for each other only the first waits in vain."""


LOOK_AGAIN: Final = 0.5
"""Seconds between the two looks that find nothing committed. A process that stood still, or whose
machine did, sees its clock leap and the end of its commit right behind that: such a disk does not
hang."""


class Stalls:
    """Since when something waits and nothing was committed. It tells only while `watch` runs."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._hangs = False
        self._waits = trio.Event()

    def begin(self) -> None:
        """Something is in line, and nothing was."""
        self._since = trio.current_time()
        self._waits.set()

    def go_on(self) -> None:
        """A commit has ended; others may be in line."""
        self._hangs = False
        if self._since is not None:
            self._since = trio.current_time()

    def end(self) -> None:
        """Nothing is in line."""
        self._hangs = False
        self._since = None

    @property
    def reason(self) -> str | None:
        """Why nothing can be written, where the disk has been silent for too long."""
        if self._since is None or not self._hangs:
            return None
        return f"no commit has ended for {trio.current_time() - self._since:.0f} s"

    async def watch(self, tell: Callable[[], None]) -> None:
        """Call `tell` each time that this has come to a reason, for as long as it runs. It wakes
        at most twice in `HUNG_AFTER` seconds, whatever the number of commits."""
        while True:
            if self._since is None:
                self._waits = trio.Event()
                await self._waits.wait()
            since = self._since
            known = trio.current_time() if since is None else since
            await trio.sleep_until(known + HUNG_AFTER - LOOK_AGAIN)
            await _look_again()
            if since is not None and self._since == since:
                self._hangs = True
                tell()
                await trio.sleep(HUNG_AFTER)


async def _look_again() -> None:
    """Wait `LOOK_AGAIN`, and again for as often as that takes far longer: then the process stood
    still in it as well, and what would have ended the commit may not have run since."""
    late = True
    while late:
        began = trio.current_time()
        await trio.sleep(LOOK_AGAIN)
        late = trio.current_time() - began > 1.5 * LOOK_AGAIN
