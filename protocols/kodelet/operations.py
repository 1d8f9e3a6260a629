"""The calls that a control plane has under way with us: started, told of, cancelled, answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Answer
from fleetgate.core.errors import Refusal, Unavailable, UnsupportedInput
from fleetgate.core.events import Decision, Outcome, Recorded, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.protocols.api import NO_STEPS, Ack, Follow, Report, Step, Steps, Submit, Unfollow
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import ui, wire
from fleetgate.protocols.kodelet.errors import CANCELED
from fleetgate.protocols.kodelet.operation import Operation
from fleetgate.protocols.kodelet.peer import Answered, Oversize, Peer
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.structs import read, write
from fleetgate.protocols.kodelet.transcript import conclude, display, refuse

UPDATE: Final = "update "
NOBODY: Final = ("nobody", "")
"""What a command is submitted with whose answer changes nothing."""


class Operations:
    """All of one connection, by the id of their request."""

    def __init__(self, peer: Peer, settings: RunnerSettings, deadlines: Deadlines) -> None:
        self._peer = peer
        self._settings = settings
        self._deadlines = deadlines
        self._all: dict[str, Operation] = {}
        self._by_run: dict[RunId, Operation] = {}
        self.generation = 0

    def start(self, operation: Operation, spec: c.RunSpec, link: str) -> Steps:
        """Start the run that a call stands for."""
        self._all[operation.request] = operation
        self._by_run[operation.run] = operation
        operation.owner.operations.add(operation.request)
        origin = c.Origin(link, operation.run.removeprefix(f"{link}/"))
        operation.start = c.StartRun(operation.run, spec, origin)
        return (Submit(operation.start, ("start", operation.request)),)

    def started(self, request: str, answer: Answer, now: int) -> Steps:
        """The core took the run, or refused it: that is the tool's failure, and no error."""
        operation = self._all[request]
        if isinstance(answer, Unavailable) and answer.open and operation.start is not None:
            # A call is made once. Told that it has failed, nobody would stop a run that is
            # accepted all the same.
            return (Submit(operation.start, ("start", request), again=True),)
        if not isinstance(answer, Refusal):
            operation.accepted = True
            follow = Follow(operation.run, Seq(0))
            return (follow, *self._stop(operation)) if operation.canceled else (follow,)
        if operation.canceled:
            self._peer.fail(request, CANCELED)
        elif operation.command:
            self._respond(operation, f"{answer.code}: {answer.message}")
        else:
            text = f"{answer.code}: {answer.message}"
            work = operation.work
            self._peer.succeed(request, refuse(work.name, work.input, text, now))
        self._forget(operation)
        return NO_STEPS

    # --- events

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        """Events of one run."""
        operation = self._by_run.get(batch[0].run) if batch else None
        if operation is None:
            return NO_STEPS
        steps: list[Step] = []
        news = False
        for recorded in batch:
            event = recorded.event
            if isinstance(event, e.RunFinished):
                return (*steps, *self._finish(operation, event.outcome, recorded.seq, now))
            brought = operation.transcript.tell(event)
            if brought and not self._settings.update_every and self._shows(operation):
                self.update(operation.request, now)
                steps += self._peer.flush()  # the end of the call, in this batch, would overtake it
            news = news or brought
            steps += self._told(operation, event)
        if news and self._settings.update_every and self._shows(operation):
            self._update_soon(operation, now)
        return steps

    def _shows(self, operation: Operation) -> bool:
        wanted = operation.wants_updates and not operation.canceled
        return wanted and not operation.showing.over

    def _told(self, operation: Operation, event: e.Event) -> Steps:
        match event:
            case e.ApprovalRequested():
                return self._ask(operation, event)
            case e.ApprovalResolved(approval=approval):
                asked = operation.questions.pop(approval, None)
                if asked is not None:
                    self._peer.abandon(asked)
            case e.Diagnosed(message=message) if operation.owner.interactive:
                self._notify(operation, message)
            case _:
                pass
        return NO_STEPS

    def _update_soon(self, operation: Operation, now: int) -> None:
        if now >= operation.showing.due:
            self.update(operation.request, now)
        else:
            self._deadlines.set(UPDATE + operation.request, operation.showing.due)

    def update(self, request: str, now: int) -> None:
        """Send a snapshot of what a call has said. It may be dropped on its way (W 5.2)."""
        operation = self._all.get(request)
        if operation is None:
            return
        owner, showing = operation.owner, operation.showing
        owner.sequence += 1
        said = wire.ToolUpdate(owner.id, operation.call, request, owner.sequence)
        every = self._settings.update_every
        frame = showing.next(said, operation.work, operation.transcript, now, every)
        if not self._peer.update(frame):
            showing.over = True

    def _finish(self, operation: Operation, outcome: Outcome, seq: Seq, now: int) -> Steps:
        request = operation.request
        if operation.canceled and outcome.state is RunState.CANCELED:
            self._peer.fail(request, CANCELED)
        elif operation.command:
            answer = outcome.text or operation.transcript.answer
            self._respond(operation, answer or outcome.message)
        else:
            done = conclude(operation.work, operation.transcript, outcome, now)
            self._peer.succeed(request, done)
        self._forget(operation)
        return (Ack(operation.run, seq), Unfollow(operation.run))

    def _respond(self, operation: Operation, text: str) -> None:
        name = operation.work.name
        self._peer.succeed(operation.request, wire.CommandResult(True, "respond", name, text))

    def _forget(self, operation: Operation) -> None:
        self._all.pop(operation.request, None)
        self._by_run.pop(operation.run, None)
        operation.owner.operations.discard(operation.request)
        self._deadlines.clear(UPDATE + operation.request)
        for asked in operation.questions.values():
            self._peer.abandon(asked)

    # --- questions

    def _ask(self, operation: Operation, event: e.ApprovalRequested) -> Steps:
        """Put an approval to whoever is there; without anybody it is denied."""
        if not operation.owner.interactive:
            return (_deny(operation.run, event.approval),)
        method, question = ui.from_approval(event, self.generation)
        token = ("ui", operation, event.approval, method)
        try:
            asked = self._peer.call(method, self._ui(operation, question), token)
        except Oversize:
            return (_deny(operation.run, event.approval),)
        operation.questions[event.approval] = asked
        return NO_STEPS

    def _ui(self, operation: Operation, question: wire.Question) -> wire.UiCall:
        return wire.UiCall(operation.owner.id, ui.owner(self.generation), write(question))

    def _notify(self, operation: Operation, message: str) -> None:
        question = wire.Question(title="", message=display(message))
        try:
            self._peer.call("ui.notify", self._ui(operation, question), ("notify",))
        except Oversize:  # a message is cut to far less
            return

    def answered(self, answer: Answered) -> Steps:
        """A question was answered; an error counts as no."""
        if answer.token[0] != "ui":
            return NO_STEPS
        _, operation, approval, method = answer.token
        if operation.questions.pop(approval, None) is None:
            return NO_STEPS
        try:
            response = read(wire.UiResponse, answer.result)
        except Malformed as error:
            report = Report("kodelet_unreadable_answer", str(error), operation.run)
            return (report, _deny(operation.run, approval))
        decision, value = ui.to_decision(method, response)
        return (_resolve(operation.run, approval, decision, value),)

    # --- ending early

    def cancel(self, request: str) -> Steps:
        """Nobody waits for a call any more. Its run is cancelled, and it is answered when that
        has ended."""
        operation = self._all.get(request)
        if operation is None or operation.canceled:
            return NO_STEPS
        operation.canceled = True
        return self._stop(operation) if operation.accepted else NO_STEPS

    def _stop(self, operation: Operation) -> Steps:
        return (Submit(c.CancelRun(operation.run, reason="context canceled"), NOBODY),)


def _deny(run: RunId, approval: str) -> Submit:
    return _resolve(run, approval, Decision.DENY, None)


def _resolve(run: RunId, approval: str, decision: Decision, value: str | None) -> Submit:
    return Submit(c.ResolveApproval(run, approval, decision, value), ("decided", run))


def decided(run: RunId, answer: Answer) -> Steps:
    """What the core says of a decision. The runner protocol has no word for one that cannot be
    taken to the worker."""
    if isinstance(answer, UnsupportedInput):
        return (Report("kodelet_decision_not_carried", answer.message, run),)
    return NO_STEPS
