"""A server gives its client work: dispatches, input, signals, scripts."""

from __future__ import annotations

from typing import Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core.errors import InvalidArgument, Refusal, UnsupportedInput
from fleetgate.core.events import Diagnosed, Outcome, Reason, RunFinished, RunState
from fleetgate.core.queue import Queue
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.protocols.api import NO_STEPS, Record, Send, Settle, Step, Steps
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import Command, Standing, make_command, note_digest
from fleetgate.protocols.rvbox.desk import Desk, Due
from fleetgate.protocols.rvbox.stdin import LARGEST
from fleetgate.protocols.rvbox.translate import from_signal, shell_names

EXPIRED = RunFinished(
    Outcome(RunState.FAILED, Reason.EXPIRED, "its queue expiry passed before its host took it")
)
CANCELED = RunFinished(
    Outcome(RunState.CANCELED, Reason.CANCELED, "canceled before its host took it")
)


MOST_REFUSALS: Final = 3
"""Refusals of a command for want of room after which what its client reports counts no more for it:
it is tried again every `full_retry` only. A client that reports room and refuses in the same breath
would be asked without end, as fast as the link carries it."""


class Giving:
    """The part of a server's connection that sends work."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._uploads: Queue[Command] = Queue()

    # --- dispatch

    def hold(self, run: Run) -> Steps:
        """Take up a run that this client may have. One that cannot be a request of this
        protocol ends here."""
        try:
            self._desk.books.add(make_command(run))
        except Refusal as refusal:
            return (Record(run.id, (RunFinished(_refused(refusal)),)),)
        return NO_STEPS

    def start(self, order: c.Order, start: c.StartRun, now: int) -> Steps:
        """Dispatch a new run, or refuse it where the protocol cannot carry it."""
        desk = self._desk
        run = Run(start.run, start.spec, start.origin, created=order.created)
        try:
            command = make_command(run)
        except Refusal as refusal:
            refused = Record(run.id, (RunFinished(_refused(refusal)),))
            return (refused, desk.report_capacity())
        desk.books.add(command)
        return self.dispatch(command, now)

    def dispatch(self, command: Command, now: int) -> Steps:
        """Send the request, for the first time or again: the same one to the byte but for
        session and revision. What may not be sent, or not any more, ends here."""
        desk = self._desk
        ends = self._unfit(command, now)
        if ends is not None:
            return (desk.end(command, ends), desk.report_capacity())
        request = attrs.evolve(
            command.dispatch,
            command_revision=command.revision,
            target_session_generation=desk.session.generation,
        )
        send = desk.session.send(request)
        if len(send.frame) > limits.FRAME:
            size = len(send.frame)
            text = f"the request takes {size} bytes; a frame of rvbox holds {limits.FRAME}"
            over = desk.end(command, RunFinished(_refused(InvalidArgument(text))))
            return (over, desk.report_capacity())
        desk.books.asked(command, now)
        self.watch_answers()
        return (send,) if command.stored else (note_digest(command), send)

    def _unfit(self, command: Command, now: int) -> RunFinished | None:
        if command.expired(now):
            return EXPIRED
        shell, offered = command.dispatch.spec.shell, self._desk.shells
        if shell == w.ShellType.UNSPECIFIED or shell in offered:
            return None
        (name,), others = shell_names((shell,)), ", ".join(shell_names(sorted(offered)))
        text = f"this host does not offer the shell {name}; it offers {others}"
        return RunFinished(_refused(UnsupportedInput(text)))

    def watch_answers(self) -> None:
        """Be woken when the oldest dispatch has waited too long for its answer."""
        desk = self._desk
        for asked in desk.books.unanswered.values():
            desk.deadlines.set(Due.ANSWER, asked + nanos(desk.settings.accept_timeout))
            return
        desk.deadlines.clear(Due.ANSWER)

    def retry_full(self, now: int, most: int, *, reported: bool = False) -> Steps:
        """Dispatch again what was refused for want of room. `reported`: the client tells that it
        has some, which counts no more for what it refuses all the same."""
        books = self._desk.books
        steps = [*self.expire(now)]
        waiting = [books.by_uuid[uuid] for uuid in books.full]
        tried = [each for each in waiting if not reported or each.refusals < MOST_REFUSALS]
        for command in tried[:most]:
            steps += self.dispatch(command, now)
        if books.full:
            self._desk.deadlines.set(Due.FULL, now + nanos(self._desk.settings.full_retry))
        else:
            self._desk.deadlines.clear(Due.FULL)
        return steps

    def refused_full(self, command: Command, now: int) -> None:
        """The client has no room for the command: it is tried again, until it expires."""
        desk = self._desk
        desk.books.refused_full(command)
        command.refusals += 1
        desk.capacity.exhausted()
        desk.deadlines.set(Due.FULL, now + nanos(desk.settings.full_retry))
        self.watch_answers()
        self._watch_expiry()

    def expire(self, now: int) -> Steps:
        """End what has waited for room past its expiry."""
        desk = self._desk
        waiting = [desk.books.by_uuid[uuid] for uuid in desk.books.full]
        ended = [desk.end(command, EXPIRED) for command in waiting if command.expired(now)]
        self._watch_expiry()
        return (*ended, desk.report_capacity()) if ended else NO_STEPS

    def _watch_expiry(self) -> None:
        books = self._desk.books
        expiries = (books.by_uuid[uuid].dispatch.queue_expiry_time for uuid in books.full)
        first = min((each for each in expiries if each is not None), default=None)
        self._desk.deadlines.put(Due.EXPIRY, first)

    def taken(self, command: Command, now: int) -> Steps:
        """The client has accepted the command: what waited for that goes out."""
        self._desk.books.taken(command)
        self._desk.capacity.taken()
        self.watch_answers()
        self.upload(command, now)
        return self.feed(command)

    # --- orders about a run that was given before

    def order(self, order: c.Order, now: int) -> Steps:
        """Pass on what is no start."""
        command = self._desk.books.by_run.get(order.run)
        if command is None:
            return NO_STEPS  # it ended meanwhile, and its orders with it
        match order.command:
            case c.SendInput() | c.CloseInput():
                return self._input(command, order)
            case c.SignalRun(signal=signal):
                return self._signal(command, order, signal)
            case c.CancelRun():
                return self._cancel(command, order, now)
            case c.ResolveApproval() | c.ResizeTerminal():
                text = "an rvbox host takes no decisions and has no terminal"
                return (Settle(order.run, order.number, UnsupportedInput(text)),)
            case c.StartRun() | c.SupplyScript():
                return (Settle(order.run, order.number),)

    def _input(self, command: Command, order: c.Order) -> Steps:
        command.inputs = max(command.inputs, order.input)
        if not command.dispatch.spec.open_stdin:
            text = "this command's input was closed from the start; start it interactive"
            return (Settle(order.run, order.number, UnsupportedInput(text)),)
        if command.stdin.add(order):
            return self.feed(command)
        text = f"an input has more than the {LARGEST} bytes that a frame of rvbox holds"
        refused = Settle(order.run, order.number, InvalidArgument(text))
        return (refused, *self.feed(command))

    def feed(self, command: Command) -> Steps:
        """Send what the command's input window allows."""
        if command.standing is not Standing.TAKEN or command.exit_seq:
            return NO_STEPS
        desk = self._desk
        return [desk.session.send(m) for m in command.stdin.next(desk.settings.stdin_window)]

    def _signal(self, command: Command, order: c.Order, signal: c.Signal) -> Steps:
        if command.standing is Standing.FULL:
            return self._never_given(command)
        kind = from_signal(signal)
        return (self._send_signal(command, kind), Settle(order.run, order.number))

    def _cancel(self, command: Command, order: c.Order, now: int) -> Steps:
        """TERMINATE now, KILL later. The order is not settled: where this link ends before the
        command does, the next one sends it again, and the time until the kill runs on."""
        if command.standing is Standing.FULL:
            return self._never_given(command)
        command.canceling = True
        desk = self._desk
        after = nanos(desk.settings.cancel_kill_after)
        desk.books.kills.setdefault(command.uuid, (order.created or now) + after)
        self._watch_kills()
        return (self._send_signal(command, w.SignalKind.TERMINATE),)

    def _never_given(self, command: Command) -> Steps:
        return (self._desk.end(command, CANCELED), self._desk.report_capacity())

    def kill(self, now: int) -> Steps:
        """Kill what was canceled long enough ago and has not ended."""
        books = self._desk.books
        due = [books.by_uuid[uuid] for uuid, at in books.kills.items() if at <= now]
        for command in due:
            del books.kills[command.uuid]
        self._watch_kills()
        alive = (command for command in due if not command.exit_seq)
        return [self._send_signal(command, w.SignalKind.KILL) for command in alive]

    def _watch_kills(self) -> None:
        first = min(self._desk.books.kills.values(), default=None)
        self._desk.deadlines.put(Due.KILL, first)

    def _send_signal(self, command: Command, kind: w.SignalKind) -> Send:
        return self._desk.session.send(w.SignalCommand(command.uuid, command.revision, kind))

    # --- scripts, one upload at a time

    def upload(self, command: Command, now: int) -> None:
        """Send the command's script, if it has one that is not on its way."""
        upload = command.upload
        if upload is None or upload.done or command in self._uploads:
            return
        self._uploads.append(command)
        self._desk.deadlines.set(Due.SCRIPT, now)

    def pump(self, now: int) -> Steps:
        """Send a piece of the script whose turn it is."""
        desk = self._desk
        steps: list[Step] = []
        if self._uploads:
            command = self._uploads.first
            upload = command.upload
            alive = desk.books.by_uuid.get(command.uuid) is command and not command.exit_seq
            if upload is not None and alive:
                window = desk.settings.script_window
                steps += [desk.session.send(m) for m in upload.next(window)]
            if upload is None or upload.done or not alive:
                self._uploads.popleft()
        if self._uploads:
            desk.deadlines.set(Due.SCRIPT, now + nanos(desk.settings.script_pace))
        return steps

    def upload_again(self, command: Command, now: int) -> Steps:
        """The script came damaged: begin anew, or end the command where that does not help."""
        upload = command.upload
        if upload is None or command.exit_seq:
            return NO_STEPS
        if upload.attempts >= self._desk.settings.script_attempts:
            said = Diagnosed("its script cannot be uploaded whole", "checksum_mismatch")
            command.upload = None
            ends = self._send_signal(command, w.SignalKind.TERMINATE)
            return (Record(command.run, (said,)), ends)
        upload.restart()
        self.upload(command, now)
        return NO_STEPS


def _refused(refusal: Refusal) -> Outcome:
    return Outcome(RunState.FAILED, Reason.REFUSED, f"{refusal.code}: {refusal.message}")
