"""How many runs of a northbound entry are with workers at a time. Bookkeeping only."""

from __future__ import annotations

from fleetgate.core.ids import RunId
from fleetgate.core.run import Run


class Pace:
    """Entries without a limit are never held back."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}
        self._out: dict[str, set[RunId]] = {}

    def limit(self, link: str, at_once: int | None) -> None:
        """Set an entry's limit; None: it has none."""
        if at_once is None:
            self._limits.pop(link, None)
        else:
            self._limits[link] = at_once

    def may_go(self, run: Run) -> bool:
        """Whether one more run of its entry may go to a worker now."""
        link = run.origin.link
        at_once = self._limits.get(link)
        return at_once is None or len(self._out.get(link, ())) < at_once

    def went(self, run: Run) -> None:
        """A worker has it."""
        self._out.setdefault(run.origin.link, set()).add(run.id)

    def ended(self, run: Run) -> bool:
        """It has ended, wherever it was; whether others of its entry may have waited for that."""
        link = run.origin.link
        out = self._out.get(link, set[RunId]())
        out.discard(run.id)
        if not out:
            self._out.pop(link, None)
        return link in self._limits
