"""A run that a control plane has opened at a runner, as it stands (W 13.1)."""

from __future__ import annotations

from typing import Final

import attrs

from fleetgate.core.events import Event, Outcome, Reason, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.kodelet.lease import Lease
from fleetgate.protocols.kodelet.stencil import Stencil
from fleetgate.protocols.kodelet.translate import Ask, CallTool
from fleetgate.protocols.kodelet.translate_events import Shown
from fleetgate.protocols.kodelet.wire import cut


@attrs.frozen(slots=True)
class Asked:
    """A question that the runner waits for: its request, and what it says if nobody says otherwise.
    The rest may be as long as a message, and is not kept."""

    id: str
    method: str
    default: str


@attrs.define(slots=True, eq=False)
class Ward:
    """One run of the core. `call` is the wire id of the one thing that it asks of the runner,
    `pending` what it ends as once it is closed; `told`: that is the runner's own word and not our
    guess. `stencil` reads the call's next update, and `tries` counts those made since one did."""

    run: RunId
    ask: Ask
    interactive: bool
    shown: Shown
    lease: Lease
    call: str = ""
    pending: Outcome | None = None
    last_words: tuple[Event, ...] = ()
    told: bool = False
    questions: dict[str, Asked] = attrs.field(factory=dict[str, Asked])
    stencil: Stencil | None = None
    tries: int = 0

    @property
    def id(self) -> str:
        """Its id on the wire."""
        return self.lease.id

    @property
    def calls_tool(self) -> bool:
        """Whether it is a tool that is called, and no command."""
        return isinstance(self.ask, CallTool)


def failed(message: str, reason: Reason = Reason.ERROR) -> Outcome:
    """A run that failed."""
    return Outcome(RunState.FAILED, reason, cut(message))


def lost(message: str) -> Outcome:
    """A run whose end nobody can know."""
    return Outcome(RunState.LOST, Reason.LOST, cut(message))


STOPPED: Final = Outcome(RunState.CANCELED, Reason.CANCELED)
