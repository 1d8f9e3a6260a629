"""Events of runs that a node does not have of us, or not any more."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, Answer
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.values import value
from fleetgate.protocols.api import NO_STEPS, Report, Send, Step, Steps, Submit
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.heard import ENDS

_REMEMBERED: Final = 1024
"""Runs that have ended or that are nobody's, whose further events are passed over in silence: a
node has 256 at a time, and a few seconds' worth of them may be on the way."""


@value
class Asked:
    """What the core is asked about an event's run. `over`: the event was its end."""

    run: RunId
    over: bool


class Foreign:
    """All of one link, by their ids on the wire."""

    def __init__(self) -> None:
        self._past: OrderedDict[str, None] = OrderedDict()

    def remember(self, id: str) -> None:
        """Pass over what is said of it from now on."""
        self._past[id] = None
        self._past.move_to_end(id)
        if len(self._past) > _REMEMBERED:
            self._past.popitem(last=False)

    def heard(self, event: w.RunEvent) -> Steps:
        """The first event of a run: has it ended here? A node that comes back tells the last of
        its runs again, and after a restart nothing but the journal knows them."""
        id = event.run_id
        known = id in self._past
        self.remember(id)
        if known:
            return NO_STEPS
        if not id or len(id.encode()) > w.MAX_ID:
            return (_REPORT,)
        run = RunId(id)
        return (Submit(c.DescribeRun(run), Asked(run, event.type in ENDS)),)

    def described(self, asked: Asked, answer: Answer, worker: WorkerId) -> Steps:
        """What the core has of it. A node that goes on with a run that has ended, or with
        somebody else's, is told to stop."""
        run = answer.after if isinstance(answer, Accepted) else None
        ended = run is not None and run.state.terminal and run.worker == worker
        steps: list[Step] = [] if ended else [_REPORT]
        if not asked.over:
            steps.append(Send(codec.encode_edge(w.CancelRequest(run_id=asked.run))))
        return steps


_REPORT: Final = Report("iop_foreign_event", "of a run that this node does not have")
