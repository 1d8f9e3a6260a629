"""A runner as a control plane shows it (W 8.6)."""

from __future__ import annotations

import attrs

from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.wire import Workspace


@attrs.frozen(slots=True)
class RunnerRecord:
    """`last` is what its heartbeats told, also where they count no more; None while it has not
    registered. `connected`: they count. `incompatible` says why its newest registration was refused
    for its version; empty: it was not. A runner of which nothing is known has no id."""

    id: str = ""
    last: Liveness | None = None
    connected: bool = False
    runs: tuple[str, ...] = ()
    workspace: Workspace = Workspace()
    incompatible: str = ""

    @property
    def status(self) -> str:
        """In the protocol's words."""
        if not self.connected or self.last is None:
            return "incompatible" if self.incompatible else "offline"
        if not self.last.ready:
            return "connecting"
        if self.last.error:
            return "error"
        return "busy" if self.runs else "idle"
