"""The runs that a node has of us, and when we stop believing in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from fleetgate.core import commands as c
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Record, Report, Send, Settle, Step, Steps
from fleetgate.protocols.bulk import Bulk, Heard
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.beside import records
from fleetgate.protocols.iop.foreign import Foreign
from fleetgate.protocols.iop.heard import Tracked, hear, hear_delta, seq_of
from fleetgate.protocols.iop.names import RESERVED
from fleetgate.protocols.iop.settings import EdgeSettings
from fleetgate.protocols.iop.translate import wire_id

_WORD: Final = "word "
_OVER: Final = "over "

_NO_WORD: Final = "the node is back, and said nothing more of the run; side effects are uncertain"


class GivenRuns:
    """All of one link, by their ids on the wire."""

    def __init__(self, settings: EdgeSettings, deadlines: Deadlines) -> None:
        self._settings = settings
        self._deadlines = deadlines
        self._runs: dict[str, Tracked] = {}
        self.foreign = Foreign()
        """Runs that are none of them."""

    def __len__(self) -> int:
        return len(self._runs)

    def give(self, run: RunId, request: w.RunRequest, spec: c.RunSpec, created: int = 0) -> None:
        """The node is asked to execute it."""
        asked, adapter, target = request.session_id, request.adapter, request.target
        self._runs[request.run_id] = Tracked(
            run, asked, adapter, target, spec.timeout, created=created
        )

    def feeds(self, order: c.Order) -> bool:
        """Whether an input is what the request of its run holds: it is settled once the node has
        shown whether it reads that."""
        tracked = self._runs.get(wire_id(order.run))
        if tracked is None or not tracked.created or order.created != tracked.created:
            return False
        tracked.fed.append(order.number)
        return True

    def take_up(self, tracked: Tracked, run: Run, now: int) -> None:
        """The node had it before this link, and must say something of it soon."""
        id = wire_id(run.id)
        self._runs[id] = tracked
        self._deadlines.set(_WORD + id, now + nanos(self._settings.reconnect_grace))
        if run.started:
            self._time(id, tracked, run.started)

    def _time(self, id: str, tracked: Tracked, started: int) -> None:
        """The node keeps the timeout; we do a little later."""
        if tracked.timeout is not None:
            margin = nanos(self._settings.timeout_margin)
            self._deadlines.set(_OVER + id, started + tracked.timeout + margin)

    def heard(self, event: w.RunEvent, now: int) -> Steps:
        """The node reports an event."""
        id = event.run_id
        tracked = self._runs.get(id)
        if tracked is None:
            return self.foreign.heard(event)
        self._deadlines.clear(_WORD + id)
        began, lossy, last = tracked.started, tracked.lossy, tracked.last
        events = hear(tracked, event)
        steps: list[Step] = [*_settled(tracked, event)]
        if events or tracked.last > last:
            steps += records(tracked.run, event, events, seq_of(event))
        if tracked.started and not began:
            self._time(id, tracked, now)
        if tracked.lossy and not lossy:
            said = "an event has a kind that is not known here, or more beside it than is kept"
            steps.append(Report("iop_event_trimmed", said, tracked.run))
        if tracked.ended:
            self._forget(id)
        return steps

    def deltas(self, deltas: Iterable[codec.Delta]) -> Bulk | None:
        """What is plainly the next texts and outputs of runs at work: nothing else follows from
        them. None: look at the whole event of the first, nothing was taken."""
        taken = 0
        heard: dict[RunId, list[Heard]] = {}
        for delta in deltas:
            tracked = self._runs.get(delta.run_id)
            if tracked is None:
                break
            of_run = heard.get(tracked.run)
            if of_run is None and _WORD + delta.run_id in self._deadlines:
                break
            one = hear_delta(tracked, delta)
            if one is None:
                break
            if of_run is None:
                of_run = heard[tracked.run] = []
            of_run.append(one)
            taken += 1
        return Bulk(taken, heard) if taken else None

    def refused(self, error: w.Error) -> Steps:
        """The node refuses something about a run, which its text begins with."""
        id = next((id for id in self._runs if error.message.startswith(f"{id}: ")), None)
        if id is None:
            return NO_STEPS
        tracked = self._runs[id]
        said = f"{error.code}: {error.message.removeprefix(f'{id}: ')}"
        if error.code == "not_found":
            return self._end(id, Outcome(RunState.LOST, Reason.LOST, said))
        if tracked.heard:
            return NO_STEPS
        return self._end(id, Outcome(RunState.FAILED, Reason.REFUSED, said))

    def cancel(self, run: RunId) -> w.CancelRequest | None:
        """What ends the run at its node; None: the node does not have it."""
        id = wire_id(run)
        tracked = self._runs.get(id)
        if tracked is None:
            return None
        session = tracked.session or tracked.asked
        action = w.CancelAction.CANCEL_RUN
        return w.CancelRequest(id, tracked.adapter, tracked.target, session, action)

    def overdue(self, name: str) -> Steps:
        """A deadline of a run has come."""
        for kind, state, reason, said in (
            (_WORD, RunState.LOST, Reason.LOST, _NO_WORD),
            (_OVER, RunState.FAILED, Reason.TIMED_OUT, "timeout: the node did not end it in time"),
        ):
            id = name.removeprefix(kind)
            if id != name and id in self._runs:
                cancel = Send(codec.encode_edge(w.CancelRequest(run_id=id)))
                return (*self._end(id, Outcome(state, reason, said)), cancel)
        return NO_STEPS

    def _end(self, id: str, outcome: Outcome) -> Steps:
        run = self._runs[id].run
        self._forget(id)
        return (Record(run, (RunFinished(outcome),)),)

    def _forget(self, id: str) -> None:
        del self._runs[id]
        self._deadlines.clear(_WORD + id)
        self._deadlines.clear(_OVER + id)
        self.foreign.remember(id)


def _settled(tracked: Tracked, event: w.RunEvent) -> Iterator[Settle]:
    """What became of the inputs that went with the request: a gateway reads them, as its reserved
    metadata shows, and no other node does. A start alone may show nothing."""
    ours = not RESERVED.isdisjoint(event.metadata)
    if ours or event.type != "start":
        error = None if ours else UnsupportedInput(_NO_STDIN)
        for number in tracked.fed:
            yield Settle(tracked.run, number, error)
        tracked.fed = []


_NO_STDIN: Final = "the node is no gateway, and takes no standard input; put it into the command"
