"""A node of an edge: the connection that dials it.

First the token, then what the edge sets takes effect, then the runs of earlier links are told
on, and the edge may ask for new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, Answer, RunList
from fleetgate.core.errors import Conflict, Refusal, RunNotFound, Unavailable
from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId
from fleetgate.core.json import same
from fleetgate.core.times import nanos
from fleetgate.protocols.api import (
    NO_STEPS,
    Close,
    Established,
    Notify,
    Opening,
    RemoteProtocolError,
    Report,
    Send,
    Step,
    Steps,
    Submit,
)
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.config import Applied, apply
from fleetgate.protocols.iop.errors import LONGEST, Refused, of_refusal
from fleetgate.protocols.iop.inquiries import INQUIRY, Inquiries, to_cancel
from fleetgate.protocols.iop.pulse import BEAT, DEAD, Pulse
from fleetgate.protocols.iop.settings import NorthSettings
from fleetgate.protocols.iop.state import EDGE_MAY, Phase
from fleetgate.protocols.iop.telling import Telling
from fleetgate.protocols.iop.translate import NATIVE, check_ids, native_of, to_spec

_REGISTER: Final = "register"
_QUOTED: Final = 128
"""Characters of a peer's own run id that an error repeats."""


class NodeConnection(BulkConnection):
    """A node's end of its link."""

    def __init__(self, settings: NorthSettings) -> None:
        self._settings = settings
        self._opening = Opening(link="")
        self._phase = Phase.NEW
        self._deadlines = Deadlines()
        self._pulse = Pulse(self._deadlines, nanos(settings.heartbeat), nanos(settings.dead_after))
        self._telling = Telling(settings)
        self._inquiries = Inquiries(settings, self._deadlines)
        self._applied = Applied()
        self._alias = ""
        self._events = 0

    # --- what the driver tells

    def opened(self, opening: Opening, now: int) -> Steps:
        self._opening = opening
        self._deadlines.set(_REGISTER, now + nanos(self._settings.register_timeout))
        token = w.RegisterRequest(opening.token or "")
        return (self._say(token), *self._deadlines.wake())

    def _say(self, message: w.NodePayload) -> Send:
        return Send(codec.encode_node(message))

    def receive(self, frame: bytes, now: int) -> Steps:
        try:
            message = codec.decode_edge(frame)
        except RemoteProtocolError as error:
            raise _broken(str(error)) from None
        self._pulse.hear(now)
        if type(message) not in EDGE_MAY[self._phase]:
            raise _broken(f"{type(message).__name__} came where the link is {self._phase.value}")
        return self._after([*self._telling.heard(now), *self._taken(message, now)], now)

    def _taken(self, message: w.EdgePayload, now: int) -> Steps:
        match message:
            case w.RegisterResponse():
                return self._registered(message, now)
            case w.RunRequest():
                return self._run(message, now)
            case w.CancelRequest():
                return self._cancel(message)
            case w.NodeCommandRequest():
                return self._command(message, now)
            case w.EdgeNodeEvent():
                return (Notify(codec.to_json(message)),)
            case w.Error():
                return self._edge_error(message)
            case w.Unknown():
                return (Report("iop_unknown_message", "from the edge"),)
            case _:
                return NO_STEPS

    def tick(self, now: int) -> Steps:
        steps: list[Step] = []
        for name in self._deadlines.due(now):
            if name == _REGISTER:
                return (Close(None, "the edge did not answer the registration"),)
            if name == DEAD and self._pulse.dead(now):
                return (Close(None, "the edge was silent for too long"),)
            if name == BEAT and self._pulse.beats(now):
                steps.append(self._say(w.Heartbeat(now)))
            elif name.startswith(INQUIRY):
                steps += map(self._say, self._inquiries.overdue(name))
        return self._after(steps, now)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        return self._after([*self._telling.deliver(batch, now)], now)

    def deliver_bulk(self, batch: Sequence[Recorded], now: int) -> Sequence[bytes] | None:
        frames = self._telling.deliver_bulk(batch)
        if frames is not None:
            self._pulse.say(now)
        return frames

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        what, subject = reply_to
        match what:
            case "limited":
                steps = self._limited(subject, answer, now)
            case "open":
                steps = self._took_up(answer, now)
            case "start":
                steps = self._started(subject, answer, now)
            case "known":
                steps = self._known(subject, answer, now)
            case "same":
                steps = self._same(subject, answer, now)
            case "cancel":
                steps = self._canceled(subject, answer)
            case _:
                steps = [self._say(each) for each in self._inquiries.answered(subject, answer)]
        return self._after([*steps], now)

    def closed(self, reason: str, now: int) -> Steps:
        if self._phase is not Phase.LIVE:
            return NO_STEPS
        return (Notify(codec.to_json(self._event("edge.disconnected", now, reason))),)

    def _after(self, steps: list[Step], now: int) -> Steps:
        if any(isinstance(step, Close) for step in steps):
            return steps
        if any(isinstance(step, Send) for step in steps):
            self._pulse.say(now)
        return [*steps, *self._deadlines.wake()]

    # --- registering

    def _registered(self, answer: w.RegisterResponse, now: int) -> Steps:
        if not answer.accepted:
            self._phase = Phase.OVER
            text = f"the edge refused the registration: {answer.reason[:LONGEST]}"
            return (Close(1000, text, retry=False),)
        self._phase = Phase.LIVE
        self._deadlines.clear(_REGISTER)
        self._pulse.begin(now)
        self._telling.node = answer.node_id
        self._alias = answer.alias
        self._applied = apply(answer.config, self._settings.local_adapters)
        unknown = (
            w.Error("unsupported_adapter", f"the adapter type {type[:64]} is not known here")
            for type in self._applied.unsupported
        )
        link = self._opening.link
        return (
            Established(),
            *map(self._say, unknown),
            self._bound(answer.config is not None),
            Submit(c.ListRuns(link, unacknowledged=True), ("open", None)),
        )

    def _bound(self, applied: bool) -> Step:
        """The bound on runs; of a configuration that is wrong none is taken up, and no run."""
        if self._applied.wrong:
            return self._say(w.Error("invalid_argument", self._applied.wrong))
        limit = c.LimitLink(self._opening.link, self._applied.at_once)
        return Submit(limit, ("limited", applied))

    def _limited(self, applied: bool, answer: Answer, now: int) -> Steps:
        """The bound on runs is the last of the configuration to take effect."""
        if isinstance(answer, Refusal):
            return (Close(None, f"the edge's configuration is not applied: {answer.message}"),)
        return (self._say(self._event("node.config_applied", now)),) if applied else ()

    def _event(self, type: str, now: int, reason: str = "") -> w.EdgeNodeEvent:
        self._events += 1
        id = f"{self._opening.entropy.hex()}-{self._events}"
        node = self._telling.node
        return w.EdgeNodeEvent(id, type, "node", node, self._alias, reason[:LONGEST], {}, now)

    def _took_up(self, answer: Answer, now: int) -> Steps:
        """What earlier links have left: the edge hears the last of each run again."""
        if not isinstance(answer, RunList):
            return (Close(None, "the runs of earlier links cannot be told on"),)
        return [step for run in answer.runs for step in self._telling.take_up(run, now)]

    def _edge_error(self, error: w.Error) -> Steps:
        said = f"{error.code[:64]}: {error.message[:LONGEST]}"
        if error.code in ("replaced", "unauthenticated"):  # the two that stop retries
            self._phase = Phase.OVER
            return (Report(f"iop_{error.code}", said), Close(1000, said, retry=False))
        return (Report("iop_edge_error", said),)

    # --- runs

    def _id(self, run_id: str) -> RunId:
        return RunId(f"{self._opening.link}/{run_id}")

    def _run(self, request: w.RunRequest, now: int) -> Steps:
        try:
            if not request.run_id:
                raise Refused("invalid_argument", "run_id must not be empty")
            check_ids(run_id=request.run_id)
        except Refused as refused:
            return (self._error(request.run_id, refused),)
        try:
            spec = to_spec(request, profile=self._applied.profile(request))
            spec = self._applied.placed(spec)
        except Refused as refused:
            described = c.DescribeRun(self._id(request.run_id))
            return (Submit(described, ("known", (request, refused))),)
        return (self._start(request, spec),)

    def _start(self, request: w.RunRequest, spec: c.RunSpec, *, again: bool = False) -> Submit:
        start = c.StartRun(
            self._id(request.run_id), spec, c.Origin(self._opening.link, request.run_id)
        )
        exists = request.session_mode == w.SessionMode.REQUIRE_EXISTING
        command = c.StartRunIf(start, session_exists=exists)
        return Submit(command, ("start", (request, spec)), again=again)

    def _error(self, run_id: str, refused: Refused) -> Send:
        text = f"{run_id[:_QUOTED]}: {refused.message}"
        return self._say(w.Error(refused.code, text))

    def _refuse(self, request: w.RunRequest, refused: Refused, now: int) -> Steps:
        """One event, without a start."""
        session, background = request.session_id, request.background
        return (
            self._say(
                self._telling.refusal(request.run_id, str(refused), session, background, now)
            ),
        )

    def _started(self, subject: Any, answer: Answer, now: int) -> Steps:
        request, spec = subject
        match answer:
            case Accepted(run=before, after=run) if run is not None:
                return self._telling.follow(run, again=before is not None)
            case Conflict():
                return (Submit(c.DescribeRun(self._id(request.run_id)), ("same", (request, spec))),)
            case Unavailable(open=True):
                # An edge asks once. Told that the run has failed, it would never hear of one that
                # is accepted all the same.
                return (self._start(request, spec, again=True),)
            case Refusal():
                return self._refuse(request, of_refusal(answer), now)
            case _:
                return NO_STEPS

    def _known(self, subject: Any, answer: Answer, now: int) -> Steps:
        """A request that would be refused: of a run that is there it is a second one."""
        request, refused = subject
        if isinstance(answer, RunNotFound):
            return self._refuse(request, refused, now)
        if isinstance(answer, Refusal):
            return self._refuse(request, of_refusal(answer), now)
        return (self._error(request.run_id, _CONFLICT),)

    def _same(self, subject: Any, answer: Answer, now: int) -> Steps:
        """The run is another by what the edge had configured, or by what it asks for."""
        request, spec = subject
        if isinstance(answer, Accepted) and answer.after is not None:
            run = answer.after
            if same(native_of(run.spec), spec.native[NATIVE]):
                return self._telling.follow(run, again=True)
        return (self._error(request.run_id, _CONFLICT),)

    def _cancel(self, request: w.CancelRequest) -> Steps:
        try:
            check_ids(run_id=request.run_id, session_id=request.session_id)
            command = to_cancel(request, self._id(request.run_id))
        except Refused as refused:
            return (self._error(request.run_id, refused),)
        return (Submit(command, ("cancel", request)),)

    def _canceled(self, request: w.CancelRequest, answer: Answer) -> Steps:
        if isinstance(answer, Refusal):
            return (self._error(request.run_id, of_refusal(answer)),)
        return NO_STEPS

    # --- questions

    def _command(self, request: w.NodeCommandRequest, now: int) -> Steps:
        taken = self._inquiries.take(request, self._opening.link, self._applied, now)
        return (taken if isinstance(taken, Submit) else self._say(taken),)


_CONFLICT: Final = Refused("conflict", "the run exists with another request; choose a new id")


def _broken(text: str) -> RemoteProtocolError:
    return RemoteProtocolError(text, (Close(1000, text[:LONGEST]),))
