"""The client of a daemon that executes runs: one connection of it (section 7).

Hello, then the daemon's list of runs, then the worker is announced. What the core holds
is compared with the list: runs that are there are attached to where their journal ends,
runs that are not were never started, or are lost. After that, orders become requests, and
events become records, each number once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core.answers import Admission, Answer, Held
from fleetgate.core.commands import Order
from fleetgate.core.errors import Refusal
from fleetgate.core.events import GapFound
from fleetgate.core.ids import RunId
from fleetgate.core.json import NOTHING
from fleetgate.core.run import Run
from fleetgate.core.times import SECOND, nanos
from fleetgate.protocols.agency import endings, wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.acks import Acks
from fleetgate.protocols.agency.attaching import Runs, accepted
from fleetgate.protocols.agency.codec import decode_server, texts_of, wrong
from fleetgate.protocols.agency.encode import FrameTooLarge
from fleetgate.protocols.agency.orders import from_command, refusal_in, reports_in, settled
from fleetgate.protocols.agency.requests import Requests
from fleetgate.protocols.agency.settings import AgencySouthboundSettings
from fleetgate.protocols.agency.state import MAJOR, Phase
from fleetgate.protocols.agency.suspects import notes_of, tries_of
from fleetgate.protocols.agency.tracking import LAST_SEQUENCE, Tracked
from fleetgate.protocols.agency.translate import from_spec, to_worker
from fleetgate.protocols.agency.translate_events import to_event
from fleetgate.protocols.api import (
    NO_STEPS,
    AnnounceWorker,
    Close,
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
from fleetgate.protocols.bulk import Bulk, BulkConnection, Heard


class AgencySouthbound(BulkConnection):
    """One connection to a daemon."""

    def __init__(self, settings: AgencySouthboundSettings) -> None:
        self._settings = settings
        self._link = ""
        self._phase = Phase.NEW
        self._minor = 0
        self._requests = Requests(nanos(settings.hello_timeout))
        self._acks = Acks(settings.ack_every, nanos(settings.ack_delay))
        self._runs = Runs(settings, self._requests, self._acks)
        self._listing: Mapping[str, wire.RunSnapshot] = NOTHING
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
                return self._turn(self._event(message), now)
            case wire.Response():
                return self._armed(self._turn(self._requests.answer(message, now), now))
            case wire.PeerCloses():
                return (Close(1000, "the daemon closed the connection"),)

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        """What is plainly the next texts of runs that nothing is wrong with."""
        if self._phase is not Phase.AGREED or not self._runs.calm:
            return None
        taken = 0
        heard: dict[RunId, list[Heard]] = {}
        for run, sequence, text in texts_of(frames, self._runs.heads):
            tracked = self._runs.get(run)
            if tracked is None or tracked.ended:
                break
            if sequence != tracked.last + 1 or sequence > LAST_SEQUENCE:
                break
            tracked.skip_to(sequence)
            of_run = heard.get(tracked.run)
            if of_run is None:
                of_run = heard[tracked.run] = []
            of_run.append((to_event(w.Text(text)), sequence, None))
            taken += 1
        return Bulk(taken, heard) if taken else None

    def tick(self, now: int) -> Steps:
        self._wake = None
        deadline = self._requests.deadline
        if deadline is not None and now >= deadline:
            seconds = self._requests.patience / SECOND
            return (Close(None, f"the daemon answered nothing for {seconds:g} s"),)
        acks = tuple(self._ack(tracked, now) for tracked in self._acks.due(now))
        return self._armed(self._turn((*acks, *self._runs.look_again(now)), now))

    def drain(self, now: int) -> Steps:
        """The daemon's runs go on without us; what is safe is said once more."""
        if not self._settings.acknowledge:
            return NO_STEPS
        behind = [t for t in self._runs.all() if t.safe > t.acked]
        return self._armed(tuple(self._ack(tracked, now) for tracked in behind))

    def fenced(self, reason: str, now: int) -> Steps:
        return (Close(1000, reason, retry=False),)

    def _turn(self, steps: Steps, now: int) -> Steps:
        """The steps, and the attachment of a suspect if it is one's turn by now."""
        suspect = self._runs.next_suspect(now)
        return self._armed((*steps, *suspect)) if suspect else steps

    def _armed(self, steps: Steps) -> Steps:
        """The steps, and a `Wake` if one is needed earlier than the open one."""
        times = (self._requests.deadline, self._acks.next_at, self._runs.look_at)
        at = min((time for time in times if time is not None), default=None)
        if at is None or (self._wake is not None and self._wake <= at):
            return steps
        self._wake = at
        return (*steps, Wake(at))

    # --- agreeing

    def _hello_answered(self, response: wire.ServerResponse, now: int) -> Steps:
        if isinstance(response, wire.Error):
            # Whatever the reason: the daemon may be another one, of another version, next time.
            return (Close(1000, f"the daemon refused hello: {response.message}"),)
        assert isinstance(response, wire.HelloAnswer)
        if response.version.major != MAJOR:
            text = f"the daemon speaks major {response.version.major}, not {MAJOR}"
            return (Close(1000, text),)
        self._phase = Phase.AGREED
        self._minor = min(response.version.minor, self._settings.version_minor)
        listed = partial(self._listed, response)
        return (self._requests.ask(wire.ListRuns(), listed, now),)

    def _listed(self, hello: wire.HelloAnswer, response: wire.ServerResponse, now: int) -> Steps:
        if isinstance(response, wire.Error):
            return (Close(1000, f"the daemon lists no runs: {response.message}"),)
        assert isinstance(response, wire.Runs)
        self._listing = {snapshot.run_id: snapshot for snapshot in response.runs}
        self._requests.patience = nanos(self._settings.request_timeout)
        return (AnnounceWorker(to_worker(self._link, hello)),)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        if not isinstance(answer, Admission):
            reason = answer.message if isinstance(answer, Refusal) else "no admission"
            return (Close(1000, reason),)
        steps: list[Step] = []
        for held in answer.held:
            steps += self._compare(held, now)
        self._listing = NOTHING
        return self._armed(self._turn((*steps, WorkerReady()), now))

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
        tracked = Tracked(
            run.id,
            request,
            run.native_seq,
            session=run.native_session,
            unsure=not run.accepted,
            safe=run.native_seq,
            acked=snapshot.acknowledged_sequence,
            tries=tries_of(run),
            notes=notes_of(run),
        )
        return self._runs.take_up(tracked, snapshot, now)

    # --- starting

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
        return (sent, self._runs.follow(tracked, now))

    def _started(self, tracked: Tracked, response: wire.ServerResponse, now: int) -> Steps:
        if not isinstance(response, wire.Error):
            return (accepted(tracked.run),)
        if response.code is wire.ErrorCode.CONFLICT:
            # Taken, or the daemon is stopping: the attachment that follows tells which.
            tracked.unsure, tracked.refusal = True, response
            return NO_STEPS
        self._runs.forget(tracked)
        return (endings.not_started(tracked.run, response),)

    # --- events

    def _event(self, frame: w.EventFrame) -> Steps:
        if self._phase is not Phase.AGREED:
            raise wrong("an event came before hello was answered")
        tracked = self._runs.get(frame.run_id)
        if tracked is None or not tracked.is_news(frame.sequence):
            return NO_STEPS
        if frame.sequence > LAST_SEQUENCE:
            raise wrong(f"an event's sequence is above {LAST_SEQUENCE}")
        missing = tracked.arrive(frame.sequence)
        self._runs.reached(tracked)
        events = to_event(frame.event)
        if missing is not None:
            events = (GapFound(*missing, "the daemon did not send them"), *events)
        if isinstance(frame.event, w.Finished | w.Failed):
            self._runs.ended(tracked)
        elif isinstance(frame.event, w.SessionOpened):
            tracked.session = frame.event.provider_session_id
        return (Record(tracked.run, events, frame.sequence),)

    def committed(self, run: RunId, native_seq: int, now: int) -> Steps:
        tracked = self._runs.get(run)
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
        self._runs.forget(tracked)
        return self._armed((*acked, self._runs.detach(tracked.run, now)))

    def _ack(self, tracked: Tracked, now: int) -> Send:
        def answered(_: wire.ServerResponse, now: int) -> Steps:
            tracked.acking = False
            live = self._runs.has(tracked)
            return (self._ack(tracked, now),) if live and self._acks.ready(tracked, now) else ()

        message = wire.AckEvents(tracked.run, self._acks.sent(tracked))
        return self._requests.ask(message, answered, now)

    # --- orders and questions

    def perform(self, order: Order, now: int) -> Steps:
        return self._armed(self._order(order, now))

    def _order(self, order: Order, now: int) -> Steps:
        if isinstance(order.command, c.StartRun):
            return self._start(order.run, order.command.spec, now)
        tracked = self._runs.get(order.run)
        if tracked is None or tracked.ended:
            gone = errors.RunNotFound(f"the daemon does not run {order.run} any more")
            return (Settle(order.run, order.number, gone),)
        message = from_command(order, tracked, self._minor)
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
        tracked = self._runs.get(order.run)
        unknown = isinstance(response, wire.Error) and response.code is wire.ErrorCode.NOT_FOUND
        return (*steps, *self._runs.gone(tracked)) if tracked is not None and unknown else steps

    def ask(self, question_id: int, question: c.ProbeWorkers | c.ReadUsage, now: int) -> Steps:
        probing = isinstance(question, c.ProbeWorkers)
        message = wire.ProbeProviders() if probing else wire.ReadAccountUsage()

        def answered(response: wire.ServerResponse, now: int) -> Steps:
            return (Respond(question_id, reports_in(response)),)

        return self._armed((self._requests.ask(message, answered, now),))
