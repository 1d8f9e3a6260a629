"""A client takes commands: each dispatch is answered once, and executed once."""

from __future__ import annotations

from typing import Final

from fleetgate.core.answers import Accepted, Answer
from fleetgate.core.commands import DescribeRun, Origin, StartRun
from fleetgate.core.errors import Refusal, RunNotFound
from fleetgate.core.ids import Seq
from fleetgate.core.run import Run
from fleetgate.protocols.api import NO_STEPS, Annotate, Follow, Steps
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.daemon import Daemon
from fleetgate.protocols.rvbox.retained import Retained, digest_of, is_tombstone, make_retained
from fleetgate.protocols.rvbox.translate import NATIVE, to_error, to_run_spec
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code

LOOK: Final = "look"
START: Final = "start"

_ECHO: Final = 128
"""Characters of a uuid that is none, as the answer repeats it."""


class Taking:
    """The part of a client's connection that answers dispatches."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def dispatch(self, dispatch: w.CommandDispatch) -> Steps:
        """Judge a dispatch by itself, then by what is retained, then by the journal."""
        wrong = self._wrong(dispatch)
        if wrong is not None:
            return self._reject(dispatch, wrong)
        known = self._daemon.retention.get(dispatch.issue_uuid)
        if known is not None:
            return self._again(known, dispatch)
        uuid = dispatch.issue_uuid
        buried = self._daemon.retention.buried.get(uuid)
        if buried is not None:
            return self._over(dispatch, buried)
        return self._daemon.ask(uuid, DescribeRun(self._daemon.run_id(uuid)), LOOK, dispatch)

    def _wrong(self, dispatch: w.CommandDispatch) -> w.ControlError | None:
        if not limits.is_uuid(dispatch.issue_uuid):
            return _invalid("issue_uuid must be a UUID in canonical lower case")
        size = len(dispatch.immutable_request_sha256)
        if size != limits.DIGEST:
            return _invalid(
                f"immutable_request_sha256 must have {limits.DIGEST} bytes; {size} came"
            )
        if dispatch.command_revision < 1:
            return _invalid("command_revision starts at 1")
        current = self._daemon.session.generation
        if dispatch.target_session_generation != current:
            text = f"the session's generation is {current}"
            return w.ControlError(Code.STALE_SESSION, text)
        return None

    def _again(self, known: Retained, dispatch: w.CommandDispatch) -> Steps:
        """The same request is accepted again, and executed once."""
        if dispatch.immutable_request_sha256 != known.digest:
            return self._conflict(dispatch)
        if dispatch.command_revision < known.revision:
            text = f"command_revision is already {known.revision}"
            return self._reject(dispatch, w.ControlError(Code.CONFLICT, text))
        raised = dispatch.command_revision > known.revision
        known.revision = dispatch.command_revision
        accepted = self._accept(dispatch)
        if not raised:
            return accepted
        note = Annotate(known.run, NATIVE, {"revision": dispatch.command_revision})
        return (note, *accepted)

    def looked(self, dispatch: w.CommandDispatch, answer: Answer, now: int) -> Steps:
        """The journal knows the command, or does not."""
        if isinstance(answer, Accepted) and answer.run is not None:
            return self._recorded(answer.run, dispatch)
        if not isinstance(answer, RunNotFound):
            return self._unanswered(dispatch, answer)
        wrong = self._unfit(dispatch, now)
        if wrong is not None:
            return self._reject(dispatch, wrong)
        daemon = self._daemon
        uuid = dispatch.issue_uuid
        spec = to_run_spec(dispatch, approvals=daemon.settings.answer_approvals)
        start = StartRun(daemon.run_id(uuid), spec, Origin(daemon.opening.link, uuid))
        daemon.starting += 1
        return daemon.ask(uuid, start, START, dispatch)

    def _recorded(self, run: Run, dispatch: w.CommandDispatch) -> Steps:
        if not is_tombstone(run):
            return self._known(run, dispatch)
        return self._over(dispatch, digest_of(run))

    def _over(self, dispatch: w.CommandDispatch, digest: bytes | None) -> Steps:
        if digest != dispatch.immutable_request_sha256:
            return self._conflict(dispatch)
        text = "the command has ended, and its events were acknowledged"
        return self._reject(dispatch, w.ControlError(Code.ALREADY_FINISHED, text))

    def _known(self, run: Run, dispatch: w.CommandDispatch) -> Steps:
        """The command is the core's; retain it on this link, and answer."""
        command = make_retained(run)
        if command is None or command.digest != dispatch.immutable_request_sha256:
            return self._conflict(dispatch)
        self._daemon.retention.put(command)
        follow = (Follow(run.id, Seq(0)),) if not self._daemon.session.reconciling else NO_STEPS
        return (*self._again(command, dispatch), *follow)

    def _unfit(self, dispatch: w.CommandDispatch, now: int) -> w.ControlError | None:
        daemon = self._daemon
        wrong = limits.check_spec(dispatch.spec, daemon.shells)
        if wrong is not None:
            return wrong
        expiry = dispatch.queue_expiry_time
        if expiry is not None and expiry <= now:
            return w.ControlError(Code.QUEUE_EXPIRED, "queue_expiry_time has passed")
        settings, retention = daemon.settings, daemon.retention
        waiting = retention.running + retention.queued + daemon.starting
        if waiting >= settings.max_running + settings.max_queued or daemon.draining:
            return w.ControlError(Code.QUEUE_FULL, f"{waiting} commands are running or queued")
        if len(retention) + daemon.starting >= settings.retained:
            text = f"{len(retention)} commands are retained; acknowledge some that have ended"
            return w.ControlError(Code.QUEUE_FULL, text)
        return None

    def started(self, dispatch: w.CommandDispatch, answer: Answer) -> Steps:
        """The core has accepted the command durably, or would not."""
        self._daemon.starting -= 1
        if isinstance(answer, Accepted) and answer.after is not None:
            return self._known(answer.after, dispatch)
        return self._unanswered(dispatch, answer)

    def _unanswered(self, dispatch: w.CommandDispatch, answer: Answer) -> Steps:
        if isinstance(answer, Refusal):
            return self._reject(dispatch, to_error(answer))
        return self._reject(dispatch, w.ControlError(Code.INTERNAL, "the core gave no answer"))

    # --- the answers

    def _accept(self, dispatch: w.CommandDispatch) -> Steps:
        answer = w.CommandAccepted(dispatch.issue_uuid, dispatch.command_revision, True)
        return self._daemon.send(answer)

    def _reject(self, dispatch: w.CommandDispatch, error: w.ControlError) -> Steps:
        uuid = dispatch.issue_uuid[:_ECHO]
        answer = w.CommandAccepted(uuid, dispatch.command_revision, False, error)
        return self._daemon.send(answer)

    def _conflict(self, dispatch: w.CommandDispatch) -> Steps:
        text = "this issue_uuid belongs to another request"
        return self._reject(dispatch, w.ControlError(Code.CONFLICT, text))


def _invalid(text: str) -> w.ControlError:
    return w.ControlError(Code.INVALID_ARGUMENT, text)
