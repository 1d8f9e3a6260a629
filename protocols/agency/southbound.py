"""The client of a daemon that executes runs: one connection of it (section 7).

Hello, then the daemon's list of runs, then the worker is announced. What the core holds
is compared with the list: runs that are there are attached to where their journal ends,
runs that are not were never started, or are lost. After that, orders become requests, and
events become records, each number once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core.answers import Admission, Answer, Held
from fleetgate.core.commands import Order
from fleetgate.core.errors import Refusal
from fleetgate.core.events import GapFound, RunFinished, RunState, StateChanged
from fleetgate.core.ids import RunId
from fleetgate.core.json import NOTHING
from fleetgate.core.run import Run
from fleetgate.protocols.agency import endings, wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.acks import Acks
from fleetgate.protocols.agency.codec import decode_server, wrong
from fleetgate.protocols.agency.encode import FrameTooLarge
from fleetgate.protocols.agency.orders import from_command, refusal_in, reports_in, settled
from fleetgate.protocols.agency.requests import Requests
from fleetgate.protocols.agency.settings import AgencySouthboundSettings
from fleetgate.protocols.agency.state import MAJOR, Phase
from fleetgate.protocols.agency.tracking import LAST_SEQUENCE, Tracked
from fleetgate.protocols.agency.translate import from_spec, to_worker
from fleetgate.protocols.agency.translate_events import ended_as, to_event
from fleetgate.protocols.api import (
    NO_STEPS,
    AnnounceWorker,
    Carriage,
    Close,
    Connection,
    Opening,
    Record,
    Respond,
    Send,
    Settle,
    Step,
    Steps,
    Wake,
    WorkerReady,
)

MAX_ENDING: Final = 1024
"""Runs whose end the core has not confirmed to be durable. Beyond it the oldest is not
acknowledged any more; it only costs the daemon memory."""

_NANOS: Final = 1_000_000_000


def carriage(settings: AgencySouthboundSettings) -> Carriage:
    """The published framing, or the foundation's lines."""
    return Carriage("lines" if settings.framing == "lines" else "kind", wire.MAX_FRAME)


class AgencySouthbound(Connection):
    """One connection to a daemon."""

    def __init__(self, settings: AgencySouthboundSettings) -> None:
        self._settings = settings
        self._link = ""
        self._phase = Phase.NEW
        self._minor = 0
        self._requests = Requests(round(settings.hello_timeout * _NANOS))
        self._acks = Acks(settings.ack_every, round(settings.ack_delay * _NANOS))
        self._listing: Mapping[str, wire.RunSnapshot] = NOTHING
        self._tracked: dict[str, Tracked] = {}
        self._ending: dict[RunId, None] = {}
        self._wake: int | None = None

    # --- what the driver tells

    def opened(self, opening: Opening, now: int) -> Steps:
        self._link = opening.link
        version = wire.ProtocolVersion(MAJOR, self._settings.version_minor)
        hello = wire.Hello(self._settings.client_name, version)
        return self._armed((self._requests.ask(hello, self._hello_answered, now),))

    def receive(self, frame: bytes, now: int) -> Steps:
        message = decode_server(frame)
        match message:
            case None:
                return NO_STEPS
            case w.EventFrame():
                return self._event(message)
            case wire.Response():
                return self._armed(self._requests.answer(message, now))
            case wire.PeerCloses():
                return (Close(1000, "the daemon closed the connection"),)

    def tick(self, now: int) -> Steps:
        self._wake = None
        deadline = self._requests.deadline
        if deadline is not None and now >= deadline:
            seconds = self._requests.patience / _NANOS
            return (Close(None, f"the daemon answered nothing for {seconds:g} s"),)
        return self._armed(tuple(self._ack(tracked, now) for tracked in self._acks.due(now)))

    def drain(self, now: int) -> Steps:
        """The daemon's runs go on without us; what is safe is said once more."""
        if not self._settings.acknowledge:
            return NO_STEPS
        behind = [t for t in self._tracked.values() if t.safe > t.acked]
        return self._armed(tuple(self._ack(tracked, now) for tracked in behind))

    def fenced(self, reason: str, now: int) -> Steps:
        return (Close(1000, reason, retry=False),)

    def _armed(self, steps: Steps) -> Steps:
        """The steps, and a `Wake` if one is needed earlier than the open one."""
        times = (self._requests.deadline, self._acks.next_at)
        at = min((time for time in times if time is not None), default=None)
        if at is None or (self._wake is not None and self._wake <= at):
            return steps
        self._wake = at
        return (*steps, Wake(at))

    # --- agreeing

    def _hello_answered(self, response: wire.ServerResponse, now: int) -> Steps:
        if isinstance(response, wire.Error):
            final = response.code is wire.ErrorCode.INCOMPATIBLE_VERSION
            return (Close(1000, f"the daemon refused hello: {response.message}", retry=not final),)
        assert isinstance(response, wire.HelloAnswer)
        if response.version.major != MAJOR:
            text = f"the daemon speaks major {response.version.major}, not {MAJOR}"
            return (Close(1000, text, retry=False),)
        self._phase = Phase.AGREED
        self._minor = min(response.version.minor, self._settings.version_minor)
        listed = partial(self._listed, response)
        return (self._requests.ask(wire.ListRuns(), listed, now),)

    def _listed(self, hello: wire.HelloAnswer, response: wire.ServerResponse, now: int) -> Steps:
        if isinstance(response, wire.Error):
            return (Close(1000, f"the daemon lists no runs: {response.message}"),)
        assert isinstance(response, wire.Runs)
        self._listing = {snapshot.run_id: snapshot for snapshot in response.runs}
        self._requests.patience = round(self._settings.request_timeout * _NANOS)
        return (AnnounceWorker(to_worker(self._link, hello)),)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        if not isinstance(answer, Admission):
            reason = answer.message if isinstance(answer, Refusal) else "no admission"
            return (Close(1000, reason),)
        steps: list[Step] = []
        for held in answer.held:
            steps += self._compare(held, now)
        self._listing = NOTHING
        return self._armed((*steps, WorkerReady()))

    def _compare(self, held: Held, now: int) -> Steps:
        """What becomes of a run that the core holds, now that the daemon has said what it has."""
        run, snapshot = held.run, self._listing.get(held.run.id)
        if snapshot is None and run.accepted:
            return (endings.lost(run.id, endings.UNKNOWN_RUN),)
        if snapshot is None:
            first = self._start(run.id, run.spec, now)
        else:
            first = self._take_up(run, snapshot, now)
        return [*first, *(step for order in held.orders for step in self._order(order, now))]

    def _take_up(self, run: Run, snapshot: wire.RunSnapshot, now: int) -> Steps:
        try:
            request = self._request(run.spec)
        except errors.UnsupportedInput as refusal:
            return (endings.lost(run.id, refusal.message),)
        tracked = self._tracked[run.id] = Tracked(
            run.id,
            request,
            run.native_seq,
            session=run.native_session,
            unsure=not run.accepted,
            safe=run.native_seq,
            acked=snapshot.acknowledged_sequence,
        )
        return (self._attach(tracked, now),)

    # --- starting and attaching

    def _request(self, spec: c.RunSpec) -> wire.RunRequest:
        return from_spec(spec, self._settings.provider, self._settings.permission)

    def _start(self, run: RunId, spec: c.RunSpec, now: int) -> Steps:
        """Ask for the run and attach to it in one go: the daemon takes one after the other."""
        try:
            tracked = Tracked(run, self._request(spec))
            start = wire.StartRun(run, tracked.request, f"{run}:start")
            sent = self._requests.ask(start, partial(self._started, tracked), now)
        except errors.UnsupportedInput as refusal:
            return (endings.refused(run, refusal.message),)
        except FrameTooLarge as error:
            return (endings.refused(run, f"the run does not fit into a request: {error}"),)
        self._tracked[run] = tracked
        return (sent, self._attach(tracked, now))

    def _started(self, tracked: Tracked, response: wire.ServerResponse, now: int) -> Steps:
        if not isinstance(response, wire.Error):
            return (_accepted(tracked.run),)
        if response.code is wire.ErrorCode.CONFLICT:
            # Taken, or the daemon is stopping: the attachment that follows tells which.
            tracked.unsure, tracked.refusal = True, response
            return NO_STEPS
        self._forget(tracked)
        return (endings.not_started(tracked.run, response),)

    def _attach(self, tracked: Tracked, now: int) -> Send:
        message = wire.AttachRun(tracked.run, tracked.last)
        return self._requests.ask(message, partial(self._attached, tracked), now)

    def _attached(self, tracked: Tracked, response: wire.ServerResponse, now: int) -> Steps:
        if self._tracked.get(tracked.run) is not tracked:
            return NO_STEPS
        if isinstance(response, wire.Error):
            return self._not_attached(tracked, response, now)
        assert isinstance(response, wire.RunAnswer)
        snapshot = response.run
        if not tracked.unsure:
            return self._caught_up(tracked, snapshot, now)
        if not tracked.is_ours(snapshot):
            self._forget(tracked)
            taken = endings.refused(tracked.run, "the daemon has another run of this id")
            return (taken, self._detach(tracked.run, now))
        tracked.unsure = False
        return (_accepted(tracked.run), *self._caught_up(tracked, snapshot, now))

    def _not_attached(self, tracked: Tracked, error: wire.Error, now: int) -> Steps:
        if error.code is wire.ErrorCode.NOT_FOUND:
            return self._gone(tracked)
        floor = endings.retained_from(error)
        if floor is None:
            return self._lost(tracked, f"the daemon does not let us attach: {error.message}")
        if tracked.last < floor <= LAST_SEQUENCE:
            return self._skip(tracked, floor, now)
        listed = partial(self._find_latest, tracked)
        return (self._requests.ask(wire.ListRuns(), listed, now),)

    def _find_latest(self, tracked: Tracked, response: wire.ServerResponse, now: int) -> Steps:
        """The daemon does not say what it still has: go on behind all that it had."""
        runs = response.runs if isinstance(response, wire.Runs) else ()
        latest = next((r.latest_sequence for r in runs if r.run_id == tracked.run), None)
        if latest is None:
            return self._gone(tracked)
        if not tracked.last < latest <= LAST_SEQUENCE:
            return self._lost(tracked, "the daemon does not offer the events that are missing")
        return self._skip(tracked, latest, now)

    def _skip(self, tracked: Tracked, floor: int, now: int) -> Steps:
        gap = GapFound(tracked.last + 1, floor, "the daemon does not retain them any more")
        tracked.last = floor
        return (Record(tracked.run, (gap,), floor), self._attach(tracked, now))

    def _caught_up(self, tracked: Tracked, snapshot: wire.RunSnapshot, now: int) -> Steps:
        """An attachment stands. Usually events follow; say so where none ever will."""
        latest = min(snapshot.latest_sequence, LAST_SEQUENCE)
        if latest < tracked.last:
            lost = self._lost(tracked, "the daemon counts fewer events of the run than it sent")
            return (*lost, self._detach(tracked.run, now))
        outcome = ended_as(snapshot.state)
        kept_from = min(snapshot.acknowledged_sequence, latest)
        if outcome is None or latest > max(tracked.last, kept_from):
            return NO_STEPS
        self._forget(tracked)
        end = RunFinished(outcome)
        if latest == tracked.last:
            return (Record(tracked.run, (end,)), self._detach(tracked.run, now))
        gap = GapFound(tracked.last + 1, latest, "another client acknowledged them")
        return (Record(tracked.run, (gap, end), latest), self._detach(tracked.run, now))

    def _gone(self, tracked: Tracked) -> Steps:
        """The daemon does not know the run."""
        if tracked.refusal is None:
            return self._lost(tracked, endings.UNKNOWN_RUN)
        self._forget(tracked)
        return (endings.refused(tracked.run, tracked.refusal.message),)

    def _lost(self, tracked: Tracked, why: str) -> Steps:
        self._forget(tracked)
        return NO_STEPS if tracked.ended else (endings.lost(tracked.run, why),)

    def _forget(self, tracked: Tracked) -> None:
        self._acks.forget(tracked.run)
        self._ending.pop(tracked.run, None)
        self._tracked.pop(tracked.run, None)

    # --- events

    def _event(self, frame: w.EventFrame) -> Steps:
        if self._phase is not Phase.AGREED:
            raise wrong("an event came before hello was answered")
        tracked = self._tracked.get(frame.run_id)
        if tracked is None or not tracked.is_news(frame.sequence):
            return NO_STEPS
        if frame.sequence > LAST_SEQUENCE:
            raise wrong(f"an event's sequence is above {LAST_SEQUENCE}")
        missing = tracked.arrive(frame.sequence)
        events = to_event(frame.event)
        if missing is not None:
            events = (GapFound(*missing, "the daemon did not send them"), *events)
        if isinstance(frame.event, w.Finished | w.Failed):
            self._ends(tracked)
        elif isinstance(frame.event, w.SessionOpened):
            tracked.session = frame.event.provider_session_id
        return (Record(tracked.run, events, frame.sequence),)

    def _ends(self, tracked: Tracked) -> None:
        tracked.ended = True
        self._ending[tracked.run] = None
        if len(self._ending) > MAX_ENDING:
            self._forget(self._tracked[next(iter(self._ending))])

    def committed(self, run: RunId, native_seq: int, now: int) -> Steps:
        tracked = self._tracked.get(run)
        if tracked is None:
            return NO_STEPS
        tracked.safe = max(tracked.safe, native_seq)
        if tracked.done:
            return self._finish(tracked, now)
        if self._settings.acknowledge and self._acks.ready(tracked, now):
            return self._armed((self._ack(tracked, now),))
        return self._armed(NO_STEPS)

    def _finish(self, tracked: Tracked, now: int) -> Steps:
        """The run's end is durable: nothing more is wanted of the daemon."""
        behind = self._settings.acknowledge and tracked.safe > tracked.acked
        acked = (self._ack(tracked, now),) if behind else ()
        self._forget(tracked)
        return self._armed((*acked, self._detach(tracked.run, now)))

    def _ack(self, tracked: Tracked, now: int) -> Send:
        def answered(_: wire.ServerResponse, now: int) -> Steps:
            tracked.acking = False
            live = self._tracked.get(tracked.run) is tracked
            return (self._ack(tracked, now),) if live and self._acks.ready(tracked, now) else ()

        message = wire.AckEvents(tracked.run, self._acks.sent(tracked))
        return self._requests.ask(message, answered, now)

    def _detach(self, run: RunId, now: int) -> Send:
        return self._requests.ask(wire.DetachRun(run), _ignored, now)

    # --- orders and questions

    def perform(self, order: Order, now: int) -> Steps:
        return self._armed(self._order(order, now))

    def _order(self, order: Order, now: int) -> Steps:
        if isinstance(order.command, c.StartRun):
            return self._start(order.run, order.command.spec, now)
        tracked = self._tracked.get(order.run)
        if tracked is None or tracked.ended:
            gone = errors.RunNotFound(f"the daemon does not run {order.run} any more")
            return (Settle(order.run, order.number, gone),)
        message = from_command(order, tracked, self._minor)
        if message is None:
            return settled(order, None)
        if isinstance(message, Refusal):
            return settled(order, message)
        try:
            return (self._requests.ask(message, partial(self._given, order, message), now),)
        except FrameTooLarge as error:
            return settled(order, errors.InvalidArgument(str(error)))

    def _given(
        self, order: Order, message: wire.ClientMessage, response: wire.ServerResponse, now: int
    ) -> Steps:
        steps = settled(order, refusal_in(message, response))
        tracked = self._tracked.get(order.run)
        unknown = isinstance(response, wire.Error) and response.code is wire.ErrorCode.NOT_FOUND
        return (*steps, *self._gone(tracked)) if tracked is not None and unknown else steps

    def ask(self, question_id: int, question: c.ProbeWorkers | c.ReadUsage, now: int) -> Steps:
        probing = isinstance(question, c.ProbeWorkers)
        message = wire.ProbeProviders() if probing else wire.ReadAccountUsage()

        def answered(response: wire.ServerResponse, now: int) -> Steps:
            return (Respond(question_id, reports_in(response)),)

        return self._armed((self._requests.ask(message, answered, now),))


def _accepted(run: RunId) -> Record:
    """The daemon has the run. It says so by no event, and the run must not be started twice."""
    return Record(run, (StateChanged(RunState.STARTING, "accepted"),))


def _ignored(response: wire.ServerResponse, now: int) -> Steps:
    return NO_STEPS
