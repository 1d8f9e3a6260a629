"""The connection that faces a client daemon: here we are the server."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from fleetgate.core.answers import Accepted, Admission, Answer
from fleetgate.core.commands import DescribeRun, Order, SendInput, StartRun
from fleetgate.core.errors import InstanceConflict, RunNotFound
from fleetgate.core.events import Event, Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import (
    NO_STEPS,
    AnnounceWorker,
    Close,
    Connection,
    Opening,
    Record,
    Report,
    Step,
    Steps,
    Submit,
    WorkerReady,
)
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import Command, Standing
from fleetgate.protocols.rvbox.codec import output_of
from fleetgate.protocols.rvbox.desk import Desk
from fleetgate.protocols.rvbox.giving import CANCELED, EXPIRED, Giving
from fleetgate.protocols.rvbox.hearing import ACCEPTED, Hearing
from fleetgate.protocols.rvbox.hello import BadHello, check_hello, speaks_higher
from fleetgate.protocols.rvbox.reconcile import Belief, Comparison, Repeated, Round, compare
from fleetgate.protocols.rvbox.session import POLICY, SUPERSEDED, TRY_LATER, closing
from fleetgate.protocols.rvbox.settings import ServerSettings, nanos
from fleetgate.protocols.rvbox.state import Phase
from fleetgate.protocols.rvbox.translate import runs_of, to_worker
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

_ADMISSION: Final = "admission"

_HELD_ORDER: Final = 256
"""Bytes that an order counts for beside its input, while it is held back."""


class ServerConnection(Connection):
    """A server's end of one link."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._opening = Opening(link="")
        self._desk = Desk(settings)
        self._giving = Giving(self._desk)
        self._hearing = Hearing(self._desk, self._giving)
        self._hello = w.ClientHello()
        self._version = w.ProtocolVersion()
        self._round: Round | None = None
        self._asked: dict[str, int] = {}
        self._ready = False
        self._held: list[Order] = []
        """Orders that the admission told of; they go out behind the first result."""
        self._held_back: deque[Order] = deque()
        self._held_back_size = 0

    # --- the driver's calls

    def opened(self, opening: Opening, now: int) -> Steps:
        """A client has `hello_timeout` to say who it is."""
        self._opening = opening
        self._desk.deadlines.set("hello", now + nanos(self._settings.hello_timeout))
        return self._desk.deadlines.wake()

    def receive(self, frame: bytes, now: int) -> Steps:
        """One envelope."""
        record = self._output(frame)
        if record is not None:
            return (record,)
        payload = self._desk.session.take(frame)
        steps = [*self._taken(payload, now)]
        return self._and_then(steps, now)

    def _output(self, frame: bytes) -> Record | None:
        """The short way of nearly every frame of a busy host; whatever is not plainly the next
        output of a running command goes the long way, which would do the same with this."""
        output = output_of(frame)
        if output is None:
            return None
        if not self._desk.session.is_at_work(output.session_id, output.session_generation):
            return None
        return self._hearing.output(output)

    def _taken(self, payload: w.Payload, now: int) -> Steps:
        match payload:
            case w.CommandEvent():
                return self._hearing.event(payload, now)
            case w.CommandAccepted():
                return self._hearing.accepted(payload, now)
            case w.ClientCapacity():
                return self._hearing.capacity(payload, now)
            case w.ReconcileSnapshot():
                return self._snapshot(payload, now)
            case w.ClientHello():
                return self._greeted(payload)
            case w.AgentError():
                return self._hearing.error(payload, now)
            case _:  # the state table lets nothing else through but what a higher minor brings
                return (Report("rvbox_unknown_payload", "from a client of a higher version"),)

    def tick(self, now: int) -> Steps:
        """Deadlines: acknowledgements, scripts, retries, and those that end the session."""
        steps: list[Step] = []
        for name in self._desk.deadlines.due(now):
            steps += self._due(name, now)
        return self._and_then(steps, now)

    def _due(self, name: str, now: int) -> Steps:
        session = self._desk.session
        match name:
            case "ack":
                return self._hearing.acknowledge()
            case "script":
                return self._giving.pump(now)
            case "full":
                return self._retry_full(now)
            case "expiry":
                return NO_STEPS if session.reconciling else self._giving.expire(now)
            case "kill":
                return self._giving.kill(now)
            case "answer":
                self._desk.wants_reconcile = True
                return NO_STEPS
            case "hello":
                raise session.violation("no ClientHello came in time")
            case "snapshot":
                raise session.violation("no ReconcileSnapshot came in time")
            case _:
                return NO_STEPS

    def _retry_full(self, now: int) -> Steps:
        if self._desk.session.reconciling:
            self._desk.deadlines.set("full", now + nanos(self._settings.full_retry))
            return NO_STEPS
        return self._giving.retry_full(now, len(self._desk.books.full))

    def _and_then(self, steps: list[Step], now: int) -> Steps:
        desk = self._desk
        if steps and isinstance(steps[-1], Close):
            return steps
        if desk.wants_reconcile and desk.session.phase is Phase.OPEN:
            steps += self._request(now)
        steps += desk.deadlines.wake()
        return steps

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        """The worker is admitted or not; or a run that a snapshot named was looked up."""
        if reply_to == _ADMISSION:
            steps = self._admitted(answer, now)
        else:
            steps = self._looked_up(reply_to, answer, now)
        return self._and_then([*steps], now)

    def perform(self, order: Order, now: int) -> Steps:
        """Pass on an order, or hold it back while the two sides compare."""
        if self._desk.session.reconciling:
            return self._hold_back(order)
        return self._and_then([*self._perform(order, now)], now)

    def _perform(self, order: Order, now: int) -> Steps:
        if isinstance(order.command, StartRun):
            return self._giving.start(order, order.command, now)
        return self._giving.order(order, now)

    def committed(self, run: RunId, native_seq: int, now: int) -> Steps:
        """Acknowledge; and a comparison that waited for this is complete."""
        steps = [*self._hearing.committed(run, native_seq, now)]
        if self._round is not None and self._round.settle(run):
            steps += self._conclude(self._round, now)
        return self._and_then(steps, now)

    def fenced(self, reason: str, now: int) -> Steps:
        """The newest link of a client wins."""
        text = "a newer link of this client took over"
        return self._desk.session.ending(Code.SUPERSEDED, text, SUPERSEDED)

    # --- hello and admission

    def _greeted(self, hello: w.ClientHello) -> Steps:
        session = self._desk.session
        try:
            self._version = check_hello(hello, self._opening)
        except BadHello as bad:
            raise session.refuse(bad.code, bad.text, POLICY) from None
        self._hello = hello
        self._desk.shells = frozenset(hello.supported_shells)
        session.lenient = speaks_higher(hello)
        self._desk.deadlines.clear("hello")
        return (AnnounceWorker(to_worker(self._opening.link, hello), _ADMISSION),)

    def _admitted(self, answer: Answer, now: int) -> Steps:
        session = self._desk.session
        if isinstance(answer, InstanceConflict):
            text = "another instance of this client is connected"
            return session.ending(Code.CLIENT_ID_IN_USE, text, POLICY)
        if not isinstance(answer, Admission):
            text = "the server cannot admit this client now"
            return session.ending(Code.RESOURCE_EXHAUSTED, text, TRY_LATER)
        session.open(self._opening.entropy.hex(), answer.epoch)
        steps: list[Step] = [session.send(w.ServerWelcome(self._version, now))]
        for held in answer.held:
            steps += self._giving.hold(held.run)
            self._held += held.orders
        most = self._hello.max_running_commands, self._hello.max_queued_commands
        self._desk.capacity.reported(w.ClientCapacity(0, 0, *most))
        return (*steps, *self._request(now))

    # --- reconcile

    def _request(self, now: int) -> Steps:
        """Say what we believe open at this client."""
        desk = self._desk
        desk.wants_reconcile = False
        desk.deadlines.clear("answer")
        desk.deadlines.set("snapshot", now + nanos(self._settings.snapshot_timeout))
        believed = [c for c in desk.books.by_uuid.values() if c.standing is not Standing.FULL]
        self._asked = {command.uuid: command.committed for command in believed}
        targets = tuple(map(_target, believed))
        return (desk.session.send(w.ReconcileRequest(targets)),)

    def _snapshot(self, snapshot: w.ReconcileSnapshot, now: int) -> Steps:
        """Compare, and have the outcome journaled before anything is done about it."""
        desk = self._desk
        desk.deadlines.clear("snapshot")
        by_uuid = desk.books.by_uuid
        beliefs = [
            _belief(by_uuid[uuid], asked) for uuid, asked in self._asked.items() if uuid in by_uuid
        ]
        try:
            comparison = compare(beliefs, snapshot, desk.books.ended, now)
        except Repeated as error:
            raise desk.session.violation(str(error)) from None
        self._round = round = Round.of(comparison)
        records = self._records(comparison)
        round.pending.update(record.run for record in records)
        asked = self._look_up(round)
        if round.pending:
            return (*records, *asked)
        return (*records, *self._conclude(round, now))

    def _records(self, comparison: Comparison) -> list[Record]:
        by_uuid = self._desk.books.by_uuid
        records: list[Record] = []
        for state in comparison.kept:
            command = by_uuid[state.issue_uuid]
            command.revision = max(command.revision, state.command_revision)
            if command.standing is not Standing.TAKEN:
                self._desk.books.taken(command)
                if self._ready:
                    self._desk.capacity.taken()
                records.append(Record(command.run, (ACCEPTED,)))
        for uuid, why in comparison.lost:
            records.append(self._desk.end(by_uuid[uuid], _lost(why)))
        for uuid in comparison.expired:
            records.append(self._desk.end(by_uuid[uuid], EXPIRED))
        for uuid in comparison.canceled:
            records.append(self._desk.end(by_uuid[uuid], CANCELED))
        return records

    def _look_up(self, round: Round) -> Steps:
        """Ask the core for ended commands that only the client names. A run whose uuid is derived
        cannot be found by it; terminating what has ended does the same to it as discarding."""
        steps: list[Step] = []
        for nth, state in enumerate(round.comparison.unclear):
            uuid = state.issue_uuid
            if nth >= self._settings.lookups:
                round.terminate.append(uuid)
                continue
            steps.append(_ask_for(round, uuid, state.last_client_event_seq, runs_of(uuid)))
        return steps

    def _looked_up(
        self, asked: tuple[str, int, tuple[RunId, ...]], answer: Answer, now: int
    ) -> Steps:
        round = self._round
        if round is None:
            return NO_STEPS
        uuid, last, others = asked
        if isinstance(answer, RunNotFound) and others and asked in round.pending:
            following = _ask_for(round, uuid, last, others)
            round.settle(asked)
            return (following,)
        run = answer.run if isinstance(answer, Accepted) else None
        whole = run is not None and run.state.terminal and run.native_seq >= last
        (round.discard if whole else round.terminate).append(uuid)
        return self._conclude(round, now) if round.settle(asked) else NO_STEPS

    def _conclude(self, round: Round, now: int) -> Steps:
        """The comparison is journaled: tell the client, and give out work again."""
        desk = self._desk
        self._round = None
        desk.wants_reconcile = False
        result = w.ReconcileResult(tuple(round.terminate), tuple(round.discard))
        steps: list[Step] = [desk.session.send(result)]
        first, self._ready = not self._ready, True
        if first:
            desk.capacity.taken(len(round.comparison.kept))
        for state in round.comparison.kept:
            steps += self._resume(state, now)
        for uuid in round.comparison.again:
            steps += self._giving.dispatch(desk.books.by_uuid[uuid], now)
        self._giving.watch_answers()
        held, self._held = self._held, []
        for order in held:
            steps += self._giving.order(order, now)
        steps += self._giving.retry_full(now, desk.capacity.open_for(desk.books))
        steps += self._release(now)
        free = desk.capacity.free(desk.books)
        steps.append(WorkerReady(free) if first else desk.report_capacity())
        return (*steps, _summary(round))

    def _resume(self, state: w.ReconcileCommandState, now: int) -> Steps:
        """Go on with a command that both sides know. An upload that is done, or under way on
        this link, is not begun again."""
        command = self._desk.books.by_uuid.get(state.issue_uuid)
        if command is None:
            return NO_STEPS
        if state.lifecycle == Lifecycle.AWAITING_SCRIPT:
            self._giving.upload(command, now)
        command.stdin.rewind()
        return self._giving.feed(command)

    # --- orders that wait

    def _hold_back(self, order: Order) -> Steps:
        settings = self._settings
        size = len(order.command.data) if isinstance(order.command, SendInput) else 0
        self._held_back.append(order)
        self._held_back_size += size + _HELD_ORDER
        full = len(self._held_back) > settings.held_back_orders
        if full or self._held_back_size > settings.held_back_size:
            return (closing(TRY_LATER, "too many orders came while the two sides compared"),)
        return NO_STEPS

    def _release(self, now: int) -> Steps:
        held, self._held_back = self._held_back, deque()
        self._held_back_size = 0
        steps: list[Step] = []
        for order in held:
            steps += self._perform(order, now)
        return steps


def _ask_for(round: Round, uuid: str, last: int, runs: tuple[RunId, ...]) -> Submit:
    """Ask for the first of the runs that a uuid may be of; the others come if it is none."""
    asked = (uuid, last, runs[1:])
    round.pending.add(asked)
    return Submit(DescribeRun(runs[0]), asked)


def _target(command: Command) -> w.ReconcileTarget:
    return w.ReconcileTarget(
        command.uuid,
        command.committed,
        command.revision,
        command.dispatch.immutable_request_sha256,
    )


def _belief(command: Command, asked: int) -> Belief:
    return Belief(
        uuid=command.uuid,
        digest=command.dispatch.immutable_request_sha256,
        asked=asked,
        accepted=command.standing is Standing.TAKEN,
        expires=command.dispatch.queue_expiry_time,
        canceling=command.canceling,
        ended=command.exit_seq > 0,
    )


def _lost(why: str) -> Event:
    return RunFinished(Outcome(RunState.LOST, Reason.LOST, why))


def _summary(round: Round) -> Report:
    seen = round.comparison
    counts = {
        "kept": len(seen.kept),
        "lost": len(seen.lost),
        "dispatched again": len(seen.again),
        "expired": len(seen.expired),
        "canceled": len(seen.canceled),
        "terminated": len(round.terminate),
        "discarded": len(round.discard),
    }
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return Report("rvbox_reconciled", told or "nothing was open")
