"""The connection that faces a server: here we are the client daemon of a host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fleetgate.core.answers import Answer
from fleetgate.core.events import Recorded
from fleetgate.core.ids import Seq
from fleetgate.core.times import nanos
from fleetgate.protocols.api import (
    NO_STEPS,
    Ack,
    Annotate,
    Close,
    Follow,
    Opening,
    Pause,
    Report,
    Resume,
    Step,
    Steps,
    Unfollow,
)
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.rvbox import recall, serving, taking
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.daemon import Asked, Daemon
from fleetgate.protocols.rvbox.hello import is_ours, make_hello
from fleetgate.protocols.rvbox.recall import Recall
from fleetgate.protocols.rvbox.retained import LINES, Retained
from fleetgate.protocols.rvbox.serving import Serving
from fleetgate.protocols.rvbox.session import TRY_LATER, closing, until_close
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.state import Phase
from fleetgate.protocols.rvbox.taking import Taking
from fleetgate.protocols.rvbox.translate import code_name
from fleetgate.protocols.rvbox.translate_events import Narrator
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

_FINAL: Final = frozenset({Code.UNSUPPORTED_VERSION, Code.UNAUTHENTICATED, Code.SUPERSEDED})
"""Errors after which dialling again would only be refused again."""

_LONGEST_ERROR: Final = 4096
"""Characters of a server's error that are reported."""


class ClientConnection(BulkConnection):
    """A client's end of one link."""

    def __init__(self, settings: ClientSettings) -> None:
        self._daemon = Daemon(settings)
        self._taking = Taking(self._daemon)
        self._serving = Serving(self._daemon)
        self._recall = Recall(self._daemon)
        self._told: w.ClientCapacity | None = None
        self._paused = False

    # --- the driver's calls

    def opened(self, opening: Opening, now: int) -> Steps:
        """Say who we are."""
        daemon = self._daemon
        daemon.opening = opening
        self._patience(now)
        hello = daemon.session.send(make_hello(daemon.settings, opening, now))
        return (hello, *daemon.deadlines.wake())

    def receive(self, frame: bytes, now: int) -> Steps:
        """One envelope. A message about a command that the core is asked about waits its turn."""
        daemon = self._daemon
        payload = daemon.session.take(frame)
        if isinstance(payload, _IN_TURN) and daemon.boxes.asked(payload.issue_uuid):
            daemon.boxes.put(payload.issue_uuid, payload, len(frame))
            return self._and_then([])
        return self._and_then([*self._taken(payload, now)])

    def _taken(self, payload: w.Payload, now: int) -> Steps:
        match payload:
            case w.EventAck():
                return self._acknowledged(payload)
            case w.CommandDispatch():
                return self._taking.dispatch(payload)
            case w.StdinWrite() | w.CloseStdin():
                return self._serving.write(payload)
            case w.SignalCommand():
                return self._serving.signal(payload)
            case w.ScriptChunk() | w.ScriptCommit():
                return self._serving.script(payload)
            case w.ReconcileRequest():
                self._patience(now)
                return self._recall.request(payload)
            case w.ReconcileResult():
                self._told = None
                return self._recall.result(payload)
            case w.ServerWelcome():
                return self._welcomed(payload, now)
            case w.AgentError():
                return self._refused(payload)
            case _:  # the state table lets nothing else through
                return NO_STEPS

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        """The core has answered: go on with the command's next messages."""
        asked: Asked = reply_to
        steps: list[Step] = []
        match asked.what:
            case recall.LIST:
                steps += self._recall.listed(answer, now)
            case recall.TARGET:
                steps += self._recall.looked_up(answer, now)
            case recall.NOBODY:
                pass
            case _:
                steps += self._in_turn(asked, answer, now)
        return self._and_then(steps)

    def _in_turn(self, asked: Asked, answer: Answer, now: int) -> Steps:
        boxes = self._daemon.boxes
        boxes.answered(asked.uuid)
        steps = [*self._answered(asked, answer, now)]
        while not boxes.asked(asked.uuid) and (payload := boxes.take(asked.uuid)) is not None:
            steps += self._taken(payload, now)
        return steps

    def _answered(self, asked: Asked, answer: Answer, now: int) -> Steps:
        uuid, subject = asked.uuid, asked.subject
        match asked.what:
            case taking.LOOK:
                return self._taking.looked(subject, answer, now)
            case taking.START:
                return self._taking.started(subject, answer)
            case serving.WRITE:
                return self._serving.wrote(uuid, subject, answer)
            case serving.ANSWER:
                return self._serving.answered(uuid, subject, answer)
            case serving.SIGNAL:
                return self._serving.signalled(uuid, subject, answer)
            case serving.SIGNAL_GONE:
                return self._serving.looked(uuid, answer)
            case serving.SUPPLY:
                return self._serving.supplied(uuid, answer)
            case _:
                return NO_STEPS

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        """Tell a command's events, each as one, under its own number."""
        command = self._daemon.retention.of(batch[0].run)
        if command is None or self._daemon.session.reconciling:
            return NO_STEPS
        return self._and_then(self._narrate(command, batch))

    def deliver_bulk(self, batch: Sequence[Recorded], now: int) -> Sequence[bytes] | None:
        """The frames of a command's output while it is at work, as far as that goes: nothing else
        follows from it."""
        daemon = self._daemon
        command = daemon.retention.of(batch[0].run) if batch else None
        if command is None or not command.at_work or daemon.session.reconciling:
            return None
        unsaid = command.narrator.written and not command.lines
        if unsaid or batch[0].seq <= command.told:
            return None
        pieces = command.narrator.pieces(batch, lines=command.lines)
        if not pieces:
            return None
        command.sent = max(command.sent, batch[len(pieces) - 1].seq)
        told = [(r.seq, r.time, piece) for r, piece in zip(batch, pieces, strict=False)]
        return daemon.session.outputs(command.uuid, command.revision, told)

    def _narrate(self, command: Retained, batch: Sequence[Recorded]) -> list[Step]:
        steps: list[Step] = []
        for recorded in batch:
            self._daemon.retention.see(command, recorded)
            event = command.narrator.tell(recorded.event)
            if event is None:
                command.narrator = Narrator()
                command.told = recorded.seq - 1
                return [*steps, Follow(command.run, Seq(0))]
            if recorded.seq > command.told:
                steps += self._tell(command, recorded, event)
        return steps

    def _tell(self, command: Retained, recorded: Recorded, event: w.Happening) -> Steps:
        if isinstance(event, w.StdinAck) and command.writes.shifted:
            event = w.StdinAck(command.writes.write_of(event.through_write_seq))
        command.sent = max(command.sent, recorded.seq)
        told = w.CommandEvent(command.uuid, command.revision, recorded.seq, recorded.time, event)
        send = self._daemon.session.send(told)
        if command.lines or not command.narrator.written:
            return (send,)
        command.lines = True
        return (Annotate(command.run, LINES, True), send)

    def tick(self, now: int) -> Steps:
        """A server that does not go on is left."""
        if "session" in self._daemon.deadlines.due(now):
            waited = self._daemon.session.phase.value
            return (closing(TRY_LATER, f"the server kept us waiting for {waited}"),)
        return self._daemon.deadlines.wake()

    def drain(self, now: int) -> Steps:
        """Have the server dispatch no more: the figures leave no room."""
        self._daemon.draining = True
        return self._and_then([])

    # --- session

    def _patience(self, now: int) -> None:
        daemon = self._daemon
        daemon.deadlines.set("session", now + nanos(daemon.settings.session_timeout))

    def _welcomed(self, welcome: w.ServerWelcome, now: int) -> Steps:
        if not is_ours(welcome.selected_protocol):
            raise self._daemon.session.violation("the welcome selects a version not offered")
        self._patience(now)
        return NO_STEPS

    def _refused(self, error: w.AgentError) -> Steps:
        code = error.error.code
        said = f"{code_name(code)}: {error.error.message[:_LONGEST_ERROR]}"
        report = Report("rvbox_server_error", said)
        if not error.close_session:
            return (report,)
        greeted = self._daemon.session.phase is not Phase.WELCOME
        final = code in _FINAL or (code == Code.INVALID_ARGUMENT and not greeted)
        end: Close = closing(1000, f"the server ended the session: {said}", retry=not final)
        return (report, end)

    def _acknowledged(self, ack: w.EventAck) -> Steps:
        """The server has these events for good. One ack less, or an older one, is no matter."""
        retention = self._daemon.retention
        command = retention.get(ack.issue_uuid)
        if command is None:
            return NO_STEPS
        through = ack.through_event_seq
        if through > command.sent:
            text = f"event {through} is acknowledged, and {command.sent} was the last one sent"
            raise self._daemon.session.violation(text)
        if through <= command.acked:
            return NO_STEPS
        command.acked = through
        acked = Ack(command.run, through)
        if not command.last or through < command.last:
            return (acked,)
        retention.bury(command)
        return (acked, Unfollow(command.run))

    # --- behind every call

    def _and_then(self, steps: list[Step]) -> Steps:
        daemon = self._daemon
        if daemon.session.phase is Phase.OPEN:
            figures = self._figures()
            if figures != self._told:
                self._told = figures
                steps.append(daemon.session.send(figures))
        if daemon.boxes.full != self._paused:
            self._paused = daemon.boxes.full
            steps.append(Pause() if self._paused else Resume())
        steps += daemon.deadlines.wake()
        return until_close(steps)

    def _figures(self) -> w.ClientCapacity:
        daemon = self._daemon
        running, queued = daemon.retention.running, daemon.retention.queued
        if daemon.draining:
            return w.ClientCapacity(running, queued, running, queued)
        settings = daemon.settings
        return w.ClientCapacity(running, queued, settings.max_running, settings.max_queued)


_IN_TURN: Final = (
    w.CommandDispatch,
    w.StdinWrite,
    w.CloseStdin,
    w.SignalCommand,
    w.ScriptChunk,
    w.ScriptCommit,
)
