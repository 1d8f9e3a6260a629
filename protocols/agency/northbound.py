"""The daemon that a client talks to: one connection of it (sections 4 and 5).

Requests are answered one after another: while one is with the core, the link is paused.
Events of attached runs go out meanwhile, except that a run's end waits for the answer to
its cancel, as it does behind the genuine daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core.answers import Accepted, AccountList, Answer, ProviderList, RunList
from fleetgate.core.errors import Refusal, RunEnded, RunNotFound
from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId
from fleetgate.core.run import Run
from fleetgate.core.times import nanos
from fleetgate.protocols.agency import answers, refusals, wire
from fleetgate.protocols.agency.attachments import Attachments
from fleetgate.protocols.agency.codec import decode_client
from fleetgate.protocols.agency.encode import FrameTooLarge, encode_response
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.agency.state import (
    CLIENT_MAY,
    MAJOR,
    Phase,
    capabilities,
    negotiate,
)
from fleetgate.protocols.agency.translate import (
    COMPACT,
    PERMISSIONS,
    scoped,
    to_command,
    to_decision,
    to_snapshot,
)
from fleetgate.protocols.api import (
    NO_STEPS,
    Close,
    Opening,
    Pause,
    Report,
    Resume,
    Send,
    Steps,
    Submit,
    Unfollow,
    Wake,
)
from fleetgate.protocols.bulk import BulkConnection

_LATER_PROVIDERS: Final = {"grok": 4}
"""Providers that came with a later minor."""

Then: TypeAlias = Callable[[Answer], Steps]
"""What becomes of the core's answer; a `Submit` carries it as its `reply_to`."""


class AgencyNorthbound(BulkConnection):
    """One client's connection."""

    def __init__(self, settings: AgencyNorthboundSettings) -> None:
        self._settings = settings
        self._link = ""
        self._phase = Phase.NEW
        self._deadline = 0
        self._stopping = False
        self._paused = False
        self._attachments = Attachments(settings)

    def opened(self, opening: Opening, now: int) -> Steps:
        self._link = opening.link
        if self._settings.strict_parity:
            return NO_STEPS
        self._deadline = now + nanos(self._settings.hello_timeout)
        return (Wake(self._deadline),)

    def tick(self, now: int) -> Steps:
        if self._phase is Phase.NEW and self._deadline and now >= self._deadline:
            return self._close(None, f"no hello within {self._settings.hello_timeout:g} s")
        return NO_STEPS

    def drain(self, now: int) -> Steps:
        self._stopping = True
        return NO_STEPS

    def receive(self, frame: bytes, now: int) -> Steps:
        message = decode_client(frame, self._settings.version_minor)
        if isinstance(message, wire.PeerCloses):
            return self._close(1000, "the client closed the connection")
        return self._take(message)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        then: Then = reply_to
        return then(answer)

    def _close(self, code: int | None, reason: str) -> Steps:
        self._phase = Phase.OVER
        return (Close(code, reason),)

    # --- requests

    def _take(self, frame: wire.ClientFrame) -> Steps:
        id, message = frame.request_id, frame.message
        if isinstance(message, wire.Hello):
            return self._hello(id, message)
        if type(message) not in CLIENT_MAY[self._phase]:
            return self._last_word(id, refusals.HELLO_FIRST)
        match message:
            case wire.StartRun():
                return self._start(id, message)
            case wire.AttachRun():
                return self._attach(id, message)
            case wire.DetachRun(run_id=run_id):
                return self._detach(id, scoped(self._link, run_id))
            case wire.InjectMessage() | wire.DecideApproval():
                return self._control(id, message)
            case wire.CancelRun(run_id=run_id):
                return self._cancel(id, scoped(self._link, run_id))
            case wire.AckEvents():
                return self._acknowledge(id, message)
            case _:
                return self._ask_daemon(id, message)

    def _ask_daemon(
        self,
        id: int,
        message: wire.ListRuns
        | wire.ProbeProviders
        | wire.ReadAccountUsage
        | wire.ShutdownIfIdle
        | wire.Shutdown
        | wire.InterruptSession,
    ) -> Steps:
        match message:
            case wire.ListRuns():
                latest = None if self._settings.strict_parity else answers.MOST_LISTED
                every = c.ListRuns(self._link, latest=latest)
                return self._submit(every, lambda a: self._listed(id, a))
            case wire.ProbeProviders():
                return self._submit(c.ProbeWorkers(self._link), lambda a: self._probed(id, a))
            case wire.ReadAccountUsage():
                return self._submit(c.ReadUsage(self._link), lambda a: self._metered(id, a))
            case wire.ShutdownIfIdle():
                return self._stop(id, c.StopMode.IF_IDLE)
            case wire.Shutdown(mode=mode):
                return self._stop(id, c.StopMode(mode.value))
            case wire.InterruptSession():
                return self._interrupt(id, message)

    def _submit(self, command: c.Command, then: Then, *, again: bool = False) -> Steps:
        """Ask the core; until it has answered, the client's next request waits."""
        submit = Submit(command, reply_to=then, again=again)
        if self._paused:
            return (submit,)
        self._paused = True
        return (Pause(), submit)

    def _answer(self, id: int, response: wire.ServerResponse) -> Steps:
        """Answer a request, and take the next one."""
        resume = (Resume(),) if self._paused else NO_STEPS
        self._paused = False
        try:
            return (Send(encode_response(id, response)), *resume)
        except FrameTooLarge as error:
            if self._settings.strict_parity:
                return self._close(None, str(error))
            text = f"the answer would take {error.size} bytes, which no frame holds"
            sent = Send(encode_response(id, refusals.not_controlled(text)))
            return (sent, Report("answer_too_large", type(response).__name__), *resume)

    def _last_word(self, id: int, error: wire.Error) -> Steps:
        return (Send(encode_response(id, error)), *self._close(1000, error.message))

    def _hello(self, id: int, hello: wire.Hello) -> Steps:
        if self._phase is not Phase.NEW:
            return self._answer(id, refusals.HELLO_ONCE)
        ours = self._settings.version_minor
        minor = negotiate(ours, hello.version)
        if minor is None:
            return self._last_word(id, refusals.INCOMPATIBLE)
        self._phase = Phase.AGREED
        known = capabilities(ours if self._settings.strict_parity else minor)
        version = wire.ProtocolVersion(MAJOR, minor)
        return self._answer(id, wire.HelloAnswer(self._settings.server_name, version, known))

    # --- starting

    def _start(self, id: int, message: wire.StartRun) -> Steps:
        if self._stopping:
            return self._answer(id, refusals.STOPPING)
        wrong = self._flaw(message)
        if wrong is None:
            return self._ask_start(id, to_command(self._link, message))
        run = scoped(self._link, message.run_id)
        return self._submit(c.DescribeRun(run), lambda a: self._not_started(id, wrong, a))

    def _flaw(self, message: wire.StartRun) -> wire.Error | None:
        """What is wrong with a start, looked at in the genuine daemon's order."""
        request, strict = message.request, self._settings.strict_parity
        if request.provider not in self._providers():
            return refusals.unsupported("provider", request.provider)
        if request.permission not in PERMISSIONS:
            return refusals.unsupported("permission", request.permission)
        if request.is_command and request.prompt != COMPACT:
            return refusals.not_started(f"unsupported command: {request.prompt[:64]}")
        limit = self._settings.run_id_limit
        if not strict and len(message.run_id.encode()) > limit:
            return refusals.not_started(f"a run id may have {limit} bytes")
        return None

    def _providers(self) -> list[str]:
        minor = self._settings.version_minor
        names = self._settings.providers
        return [name for name in names if _LATER_PROVIDERS.get(name, 0) <= minor]

    def _not_started(self, id: int, wrong: wire.Error, answer: Answer) -> Steps:
        """That the id is taken counts before what is wrong with the request."""
        return self._answer(id, refusals.RUN_EXISTS if isinstance(answer, Accepted) else wrong)

    def _ask_start(self, id: int, start: c.StartRun, again: bool = False) -> Steps:
        return self._submit(start, lambda a: self._started(id, start, a, again), again=again)

    def _started(self, id: int, start: c.StartRun, answer: Answer, again: bool) -> Steps:
        if isinstance(answer, errors.Unavailable) and answer.open:
            return self._ask_start(id, start, again=True)
        if isinstance(answer, Refusal):
            return self._answer(id, refusals.start_refused(answer))
        new = isinstance(answer, Accepted) and (again or answer.run is None)
        return self._answer(id, wire.Accepted() if new else refusals.RUN_EXISTS)

    # --- attaching

    def _attach(self, id: int, message: wire.AttachRun) -> Steps:
        run = scoped(self._link, message.run_id)

        def described(answer: Answer) -> Steps:
            found = answers.run_in(answer)
            if isinstance(found, Refusal):
                return self._answer(id, refusals.refused(found))
            return self._attach_to(id, message, found)

        return self._submit(c.DescribeRun(run), described)

    def _attach_to(self, id: int, message: wire.AttachRun, run: Run) -> Steps:
        after, floor = message.after_sequence, self._attachments.floor(run)
        if after < floor:
            return self._answer(id, refusals.replay_expired(after, floor))
        answer = self._answer(id, wire.RunAnswer(to_snapshot(run)))
        if any(isinstance(step, Report | Close) for step in answer):
            return answer
        sent, *rest = answer
        return (sent, self._attachments.attach(message, run), *rest)

    def _detach(self, id: int, run: RunId) -> Steps:
        accepted = self._answer(id, wire.Accepted())
        return (Unfollow(run), *accepted) if self._attachments.detach(run) else accepted

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        try:
            return self._attachments.deliver(batch)
        except FrameTooLarge as error:
            return self._close(None, str(error))

    def deliver_bulk(self, batch: Sequence[Recorded], now: int) -> Sequence[bytes] | None:
        return self._attachments.deliver_bulk(batch)

    def _acknowledge(self, id: int, message: wire.AckEvents) -> Steps:
        run = scoped(self._link, message.run_id)

        def acknowledged(answer: Answer) -> Steps:
            if isinstance(answer, Refusal):
                return self._answer(id, refusals.refused(answer))
            return self._answer(id, wire.Accepted())

        return self._submit(c.AcknowledgeRun(run, message.through_sequence), acknowledged)

    # --- controlling

    def _control(self, id: int, message: refusals.Controlled) -> Steps:
        """Keys are ignored, as the genuine daemon does: released clients use one key for every
        message of a run (section 4.3)."""
        run = scoped(self._link, message.run_id)
        command: c.RunCommand
        match message:
            case wire.InjectMessage(body=body):
                command = c.SendInput(run, body.encode(), newline=True)
            case wire.DecideApproval(approval_id=approval, decision=decision):
                command = c.ResolveApproval(run, approval, to_decision(decision))

        def controlled(answer: Answer) -> Steps:
            if not isinstance(answer, Refusal):
                return self._answer(id, wire.Accepted())
            if isinstance(answer, errors.RunNotFound):
                return self._answer(id, refusals.NO_RUN)
            return self._submit(
                c.DescribeRun(run), lambda a: self._not_controlled(id, message, answer, a)
            )

        return self._submit(command, controlled)

    def _not_controlled(
        self, id: int, message: refusals.Controlled, refusal: Refusal, answer: Answer
    ) -> Steps:
        """The text of a refusal names the run's program, so the run was asked for."""
        run = answers.run_in(answer)
        if isinstance(run, Refusal):
            return self._answer(id, refusals.refused(run))
        error = refusals.control_refused(message, refusal, run)
        if error is not None:
            return self._answer(id, error)
        if self._settings.strict_parity:
            return self._answer(id, wire.Accepted())
        return self._answer(id, refusals.not_controlled("the run does not wait for this approval"))

    def _cancel(self, id: int, run: RunId) -> Steps:
        self._attachments.hold_end(run)

        def canceled(answer: Answer) -> Steps:
            late = self._attachments.release_end()
            if isinstance(answer, Refusal):
                return (*self._answer(id, refusals.refused(answer)), *late)
            again = isinstance(answer, Accepted) and answer.run and answer.run.canceling
            return (*self._answer(id, refusals.RUN_EXISTS if again else wire.Accepted()), *late)

        return self._submit(c.CancelRun(run), canceled)

    def _interrupt(self, id: int, message: wire.InterruptSession) -> Steps:
        """The open runs of that native session are canceled (0.4)."""
        if not message.session_id.strip():
            return self._answer(id, refusals.unsupported("provider", "the session id is empty"))
        if message.provider not in self._providers():
            return self._answer(id, refusals.unsupported("provider", message.provider))

        def listed(answer: Answer) -> Steps:
            if not isinstance(answer, RunList):
                return self._answer(id, answers.unexpected(answer))
            wanted = [run.id for run in answer.runs if answers.in_session(run, message)]
            return self._interrupt_next(id, wanted, interrupted=False)

        return self._submit(c.ListRuns(self._link, open_only=True), listed)

    def _interrupt_next(self, id: int, left: list[RunId], *, interrupted: bool) -> Steps:
        if not left:
            return self._answer(id, wire.SessionInterrupted(interrupted))

        def canceled(answer: Answer) -> Steps:
            if not isinstance(answer, Accepted | RunEnded | RunNotFound):
                return self._answer(id, answers.unexpected(answer))
            did = interrupted or isinstance(answer, Accepted)
            return self._interrupt_next(id, left[1:], interrupted=did)

        return self._submit(c.CancelRun(left[0]), canceled)

    # --- the daemon as a whole

    def _listed(self, id: int, answer: Answer) -> Steps:
        if not isinstance(answer, RunList):
            return self._answer(id, answers.unexpected(answer))
        runs = answer.runs if self._settings.strict_parity else answers.fitting(answer.runs)
        steps = self._answer(id, wire.Runs(tuple(map(to_snapshot, runs))))
        left_out = len(answer.runs) - len(runs)
        return (*steps, Report("runs_left_out", str(left_out))) if left_out else steps

    def _probed(self, id: int, answer: Answer) -> Steps:
        if not isinstance(answer, ProviderList):
            return self._answer(id, answers.unexpected(answer))
        return self._answer(id, answers.providers(self._providers(), answer.providers))

    def _metered(self, id: int, answer: Answer) -> Steps:
        if not isinstance(answer, AccountList):
            return self._answer(id, answers.unexpected(answer))
        return self._answer(id, answers.accounts(self._providers(), answer.accounts))

    def _stop(self, id: int, mode: c.StopMode) -> Steps:
        def stopped(answer: Answer) -> Steps:
            if isinstance(answer, errors.Conflict):
                active = c.ListRuns(self._link, open_only=True)
                return self._submit(active, lambda a: self._not_idle(id, a))
            if isinstance(answer, Refusal):
                return self._answer(id, refusals.stop_refused(answer))
            accepted = Send(encode_response(id, wire.Accepted()))
            return (accepted, *self._close(1000, "the client asked for a shutdown"))

        return self._submit(c.StopLink(self._link, mode), stopped)

    def _not_idle(self, id: int, answer: Answer) -> Steps:
        count = len(answer.runs) if isinstance(answer, RunList) else 0
        return self._answer(id, refusals.active_runs(max(1, count)))
