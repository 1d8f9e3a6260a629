"""A run that a control plane opened with us, and the calls in it, each a run of the core."""

from __future__ import annotations

import attrs

from fleetgate.core import commands as c
from fleetgate.core.ids import RunId
from fleetgate.protocols.kodelet.showing import Showing
from fleetgate.protocols.kodelet.transcript import Transcript, Work
from fleetgate.protocols.kodelet.wire import RunOpen


@attrs.define(slots=True, eq=False)
class OpenRun:
    """`opening` is the request that waits for it to be opened, until it is; `closers` are those
    that wait for it to be closed; `sequence` counts the updates of all its calls (W 11.4)."""

    opened: RunOpen
    opening: str = ""
    stopping: bool = False
    closing: bool = False
    sequence: int = 0
    closers: list[str] = attrs.field(factory=list[str])
    operations: set[str] = attrs.field(factory=set[str])

    @property
    def id(self) -> str:
        """Its id on the wire."""
        return self.opened.run_id

    @property
    def interactive(self) -> bool:
        """Whether somebody is there to be asked."""
        return self.opened.client_capabilities.interactive_ui


@attrs.define(slots=True, eq=False)
class Operation:
    """A call under way. `request` is its id on the wire, `run` the core's run. `questions` are
    the wire ids of what it asks, by approval. `showing` paces its updates. `start` is
    what the core was asked."""

    request: str
    owner: OpenRun
    run: RunId
    work: Work
    call: str
    transcript: Transcript
    command: bool = False
    wants_updates: bool = False
    accepted: bool = False
    canceled: bool = False
    showing: Showing = attrs.field(factory=Showing)
    questions: dict[str, str] = attrs.field(factory=dict[str, str])
    start: c.StartRun | None = None
