"""A server hears its client: answers, events, capacity, errors."""

from __future__ import annotations

from collections.abc import Iterable

from fleetgate.core.events import (
    Diagnosed,
    Event,
    InputAccepted,
    Outcome,
    OutputProduced,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    StateChanged,
)
from fleetgate.core.ids import RunId
from fleetgate.core.sequence import Arrival, arrival
from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Record, Report, Step, Steps
from fleetgate.protocols.bulk import Bulk, Heard
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import Command, Standing
from fleetgate.protocols.rvbox.codec import Output
from fleetgate.protocols.rvbox.desk import Desk, Due
from fleetgate.protocols.rvbox.giving import Giving
from fleetgate.protocols.rvbox.session import about, closing
from fleetgate.protocols.rvbox.translate import PASSING, code_name
from fleetgate.protocols.rvbox.translate_events import rejected, to_events, to_output
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

MOST_GAPS = 3
"""Reconciles in a row that a command's gaps may cause; a client that still leaves events out
does not keep to the protocol."""

LONGEST_ERROR = 4096
"""Characters of a client's error that are kept."""

ACCEPTED = StateChanged(RunState.STARTING, "accepted")


class Hearing:
    """The part of a server's connection that takes what the client says of its commands."""

    def __init__(self, desk: Desk, giving: Giving) -> None:
        self._desk = desk
        self._giving = giving

    # --- answers to dispatches

    def accepted(self, answer: w.CommandAccepted, now: int) -> Steps:
        """The client took a command, or would not."""
        command = self._desk.books.by_uuid.get(answer.issue_uuid)
        if command is None:
            return self._stranger(answer.issue_uuid)
        if command.standing is not Standing.ASKED:
            return NO_STEPS  # a repeat, or an event was quicker
        if answer.accepted:
            fed = self._giving.taken(command, now)
            return (Record(command.run, (ACCEPTED,)), self._desk.report_capacity(), *fed)
        return self._rejected(command, answer.rejection or w.ControlError(), now)

    def _rejected(self, command: Command, error: w.ControlError, now: int) -> Steps:
        desk = self._desk
        if error.code not in PASSING:
            outcome = rejected(error.code, error.message[:LONGEST_ERROR])
        elif command.canceling:
            outcome = Outcome(RunState.CANCELED, Reason.CANCELED, "canceled before it was taken")
        else:
            self._giving.refused_full(command, now)
            return (desk.report_capacity(),)
        over = desk.end(command, RunFinished(outcome))
        self._giving.watch_answers()
        return (over, desk.report_capacity())

    def capacity(self, figures: w.ClientCapacity, now: int) -> Steps:
        """The client's figures: what it refused for want of room comes first."""
        desk = self._desk
        desk.capacity.reported(figures)
        if desk.session.reconciling:
            return (desk.report_capacity(),)
        again = self._giving.retry_full(now, desk.capacity.open_for(desk.books), reported=True)
        return (*again, desk.report_capacity())

    # --- events

    def outputs(self, outputs: Iterable[Output]) -> Bulk | None:
        """What can only be the next outputs of commands that were seen at work: nothing else
        follows from them. None: look at the whole message of the first, nothing was taken."""
        taken = 0
        heard: dict[RunId, list[Heard]] = {}
        command: Command | None = None
        last: tuple[str, int, str] | None = None
        for session, generation, uuid, seq, stream, data, offset in outputs:
            if (session, generation, uuid) != last:
                last = session, generation, uuid
                command = self._at_work(session, generation, uuid)
            if command is None or seq != command.taken + 1:
                break
            events = to_output(stream, data, offset)
            if type(events[0]) is not OutputProduced:
                break
            command.taken = seq
            command.gaps = 0
            of_run = heard.get(command.run)
            if of_run is None:
                of_run = heard[command.run] = []
            of_run.append((events, seq, None))
            taken += 1
        return Bulk(taken, heard) if taken else None

    def _at_work(self, session: str, generation: int, uuid: str) -> Command | None:
        """The command of this session that is known to run, if there is one of that uuid."""
        if not self._desk.session.is_at_work(session, generation):
            return None
        command = self._desk.books.by_uuid.get(uuid)
        return command if command is not None and command.running and not command.exit_seq else None

    def event(self, event: w.CommandEvent, now: int) -> Steps:
        """Record the next event; a repeated one is acknowledged again, a gap is not recorded."""
        command = self._desk.books.by_uuid.get(event.issue_uuid)
        if command is None:
            return self._stranger(event.issue_uuid)
        stands = arrival(command.taken, event.event_seq)
        if stands is Arrival.NEXT and not command.exit_seq:
            return self._next(command, event, now)
        if stands is Arrival.DUPLICATE:
            self._desk.acks.again(command)
            self.watch_acks(now)
            return NO_STEPS
        return NO_STEPS if command.exit_seq else self._gap(command)

    def _next(self, command: Command, event: w.CommandEvent, now: int) -> Steps:
        events = to_events(event.event, running=command.running, inputs=command.inputs)
        command.taken = event.event_seq
        command.gaps = 0
        record = Record(command.run, events, event.event_seq)
        first = events[0]
        if command.running and type(first) is OutputProduced:
            return (record,)
        return (record, *self._follows(command, first, now))

    def _follows(self, command: Command, event: Event, now: int) -> Steps:
        """What an event means for us, beside being recorded."""
        desk = self._desk
        steps: list[Step] = []
        if command.standing is not Standing.TAKEN:
            steps += self._giving.taken(command, now)
            steps.append(desk.report_capacity())
        match event:
            case RunStarted() | OutputProduced():
                command.running = True
            case InputAccepted(through=through):
                command.stdin.acknowledge(through)
                steps += self._giving.feed(command)
            case RunFinished():
                command.exit_seq = command.taken
            case _:
                pass
        return steps

    def _gap(self, command: Command) -> Steps:
        desk = self._desk
        if desk.session.reconciling:
            return NO_STEPS  # the request that went out covers it
        command.gaps += 1
        if command.gaps > MOST_GAPS:
            text = f"events of {command.uuid} are left out, again after {MOST_GAPS} reconciles"
            raise desk.session.violation(text)
        desk.wants_reconcile = True
        text = f"expected event {command.taken + 1}, a later one came"
        return (desk.session.send(about(command.uuid, Code.OUT_OF_ORDER, text)),)

    def _stranger(self, uuid: str) -> Steps:
        desk = self._desk
        if uuid in desk.books.ended:
            return NO_STEPS
        text = "this command is not known here"
        return (desk.session.send(about(uuid, Code.NOT_FOUND, text)),)

    # --- acknowledgement

    def committed(self, run: RunId, through: int, now: int) -> Steps:
        """What was recorded is durable."""
        desk = self._desk
        command = desk.books.by_run.get(run)
        if command is None:
            return NO_STEPS
        ack = desk.acks.committed(command, through)
        if 0 < command.exit_seq <= command.committed:
            desk.books.end(command)
            desk.acks.forget(command)
        self.watch_acks(now)
        return NO_STEPS if ack is None else (desk.session.send(ack),)

    def watch_acks(self, now: int) -> None:
        """Be woken for the acknowledgements that are due by time."""
        deadlines = self._desk.deadlines
        if self._desk.acks.waiting and Due.ACK not in deadlines:
            deadlines.set(Due.ACK, now + nanos(self._desk.settings.ack_delay))

    def acknowledge(self) -> Steps:
        """Send them."""
        desk = self._desk
        return [desk.session.send(ack) for ack in desk.acks.flush()]

    # --- errors

    def error(self, error: w.AgentError, now: int) -> Steps:
        """The client complains: about itself, or about one command."""
        code, message = error.error.code, error.error.message[:LONGEST_ERROR]
        said = f"{code_name(code)}: {message}"
        if error.close_session:
            report = Report("rvbox_client_closes", said)
            return (report, closing(1000, "the client ended the session"))
        uuid, _, text = message.partition(": ")
        books = self._desk.books
        command = books.by_uuid.get(uuid)
        ended = uuid in books.ended if command is None else command.exit_seq > 0
        if ended and code == Code.NOT_FOUND:
            return NO_STEPS  # what we sent and its end have crossed
        if command is None:
            return (Report("rvbox_client_error", said),)
        return self._about(command, code, text, now)

    def _about(self, command: Command, code: int, text: str, now: int) -> Steps:
        desk = self._desk
        if code == Code.CHECKSUM_MISMATCH:
            return self._giving.upload_again(command, now)
        if code == Code.OUT_OF_ORDER and command.stdin.waiting and Due.CALM not in desk.deadlines:
            desk.deadlines.set(Due.CALM, now + nanos(desk.settings.reconcile_pause))
            desk.wants_reconcile = True
        if command.standing is not Standing.TAKEN or command.exit_seq:
            return (Report("rvbox_client_error", f"{code_name(code)}: {text}", command.run),)
        return (Record(command.run, (Diagnosed(text, code_name(code)),)),)
