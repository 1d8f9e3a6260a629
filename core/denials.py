"""Approvals that nobody who asked for the run could answer: denied as they are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleetgate.core.commands import ResolveApproval, RunCommand
from fleetgate.core.events import Decision
from fleetgate.core.slots import Slot


class Denials:
    """Denies what the router says is to be denied. `order` gives a run commands, and waits for
    nothing."""

    def __init__(
        self,
        denies: Callable[[str, str], bool],
        order: Callable[[Slot, Sequence[RunCommand]], None],
    ) -> None:
        self._denies = denies
        self._order = order

    def look(self, slot: Slot) -> None:
        """Deny what the run waits for and was committed. Of what was denied before and is not
        committed yet nothing is left to ask."""
        if not slot.visible.approvals:
            return
        run = slot.run
        asked = [each for each in slot.visible.approvals if each in run.approvals]
        if asked and self._denies(run.origin.link, run.pool):
            self._order(slot, [ResolveApproval(run.id, each, Decision.DENY) for each in asked])
