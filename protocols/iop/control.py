"""EdgeControl: one call of a control client, which is a link of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted, Answer
from fleetgate.core.errors import Refusal, Unavailable
from fleetgate.core.events import Recorded, RunFinished
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.times import nanos
from fleetgate.core.watchers import WorkerNotice
from fleetgate.protocols.api import (
    NO_STEPS,
    Connection,
    Follow,
    Opening,
    RemoteProtocolError,
    Report,
    Send,
    SpeakOn,
    Step,
    Steps,
    Submit,
    WatchWorkers,
)
from fleetgate.protocols.bulk import Bulk, BulkConnection
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import inquiries as q
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import Refused, end_call, of_refusal
from fleetgate.protocols.iop.narrator import Narrator
from fleetgate.protocols.iop.settings import ANYBODY, EdgeSettings, NorthSettings
from fleetgate.protocols.iop.telling import cut
from fleetgate.protocols.iop.told import LARGEST
from fleetgate.protocols.iop.translate import check_ids, to_spec, wire_id
from fleetgate.protocols.iop.watched import Watched
from fleetgate.protocols.unframed import AnswersUnframed

_REQUEST: Final = "request"
_ANSWER: Final = "answer"
_NO_CONTROLLER: Final = (
    "a bearer token of a controller is needed in the metadata `authorization`; beside nodes, the"
    " edge's `controllers` say whose tokens those are"
)
_NEAR: Final = 64
"""A watcher that has so many events, or fewer, is told from the beginning, and shown what is new
to it: what the telling depends on is among them. Any other was told the start."""

_REQUESTS: Final[dict[str, type[Any]]] = {
    "Run": w.RunRequest,
    "Attach": w.AttachRequest,
    "Cancel": w.CancelRequest,
    "Command": w.NodeCommandRequest,
    "WatchNodes": w.WatchNodesRequest,
}


class InFlight:
    """The request ids that control clients have under way, by connection: each call is a link of
    its own, and only the peer's address says which of them are of one client. A call takes its
    id out again, so it holds what the links hold."""

    def __init__(self) -> None:
        self._ids: set[tuple[str, str, str]] = set()

    def take(self, opening: Opening, id: str) -> tuple[str, str, str] | None:
        """Begin a request; None: one of this id is under way on that connection."""
        key = (f"{opening.instance} {opening.link}", opening.peer, id)
        if key in self._ids:
            return None
        if opening.peer:
            self._ids.add(key)
        return key

    def leave(self, key: tuple[str, str, str] | None) -> None:
        """It is over."""
        if key is not None:
            self._ids.discard(key)


class ControlCall(Connection):
    """A server's end of one call. `controllers`: whose tokens allow it, where the entry has any."""

    def __init__(
        self,
        settings: EdgeSettings | NorthSettings,
        controllers: Sequence[str] = (),
        in_flight: InFlight | None = None,
    ) -> None:
        self._settings = settings
        self._controllers = controllers
        self._in_flight = in_flight or InFlight()
        self._opening = Opening(link="")
        self._deadlines = Deadlines()
        self._method = ""
        self._asked: Any = None
        self._run: RunId | None = None
        self._narrator: Narrator | None = None
        self._after = 0
        self._key: tuple[str, str, str] | None = None
        self._watched: Watched | None = None
        self._over = False
        self._draining = False

    # --- what the driver tells

    def opened(self, opening: Opening, now: int) -> Steps:
        self._opening = opening
        self._method = opening.path.removeprefix(w.CONTROL)
        if self._method not in _REQUESTS:
            return self._end(Refused("unsupported_input", "no such method"))
        try:
            if not self._may_call():
                return self._end(Refused("unauthenticated", _NO_CONTROLLER))
        except Unavailable as unavailable:
            return self._end(of_refusal(unavailable))
        self._deadlines.set(_REQUEST, now + nanos(self._settings.register_timeout))
        return self._deadlines.wake()

    def _may_call(self) -> bool:
        if not self._opening.guarded:
            return True
        scheme, _, token = self._opening.headers.get("authorization", "").partition(" ")
        who = self._opening.identify(token.strip()) if scheme.lower() == "bearer" else None
        return who is not None and not {who, ANYBODY}.isdisjoint(self._controllers)

    def receive(self, frame: bytes, now: int) -> Steps:
        if self._asked is not None or self._over:
            return (Report("iop_second_request", "a call has one"),)
        self._deadlines.clear(_REQUEST)
        try:
            self._asked = codec.decode(_REQUESTS[self._method], frame)
            steps = self._begin(now)
        except RemoteProtocolError as error:
            steps = self._end(Refused("invalid_argument", str(error)))
        except Refused as refused:
            steps = self._end(refused)
        return (*steps, *(() if self._over else self._deadlines.wake()))

    def _begin(self, now: int) -> Steps:
        match self._asked:
            case w.RunRequest():
                step = self._start(self._asked)
            case w.AttachRequest():
                step = self._attach(self._asked)
            case w.CancelRequest():
                return self._cancel(self._asked)
            case w.NodeCommandRequest():
                return self._command(self._asked, now)
            case _:
                self._watched = Watched(self._opening.entropy, self._asked.include_current)
                step = WatchWorkers()
        return (SpeakOn(), step)

    def tick(self, now: int) -> Steps:
        for name in self._deadlines.due(now):
            if name == _REQUEST:
                return self._end(Refused("invalid_argument", "no request came in time"))
            if name == _ANSWER:
                return self._answer(q.answer_to(self._asked, q.TIMEOUT))
        return self._deadlines.wake()

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        if self._over:
            return NO_STEPS
        match reply_to:
            case "run":
                return self._accepted(answer)
            case "cancel":
                refused = of_refusal(answer) if isinstance(answer, Refusal) else None
                return self._answer(_canceled(refused))
            case _:
                return self._told(answer)

    def drain(self, now: int) -> Steps:
        self._draining = True
        if self._watched is None or self._over:
            return NO_STEPS
        return [self._send(event) for event in self._watched.shut_down(now)]

    def closed(self, reason: str, now: int) -> Steps:
        self._in_flight.leave(self._key)
        foreground = isinstance(self._asked, w.RunRequest) and not self._asked.background
        if self._over or self._draining or self._run is None or not foreground:
            return NO_STEPS
        if not self._settings.cancel_on_disconnect:
            return NO_STEPS
        return (Submit(c.CancelRun(self._run, reason="its control client went away")),)

    # --- ending

    def _end(self, refused: Refused | None = None) -> Steps:
        self._over = True
        return (end_call(refused),)

    def _send(self, message: w.ControlMessage) -> Send:
        frame = codec.encode(message)
        if len(frame) > self._settings.max_message and isinstance(message, w.RunEvent):
            frame = codec.encode(cut(message))
        return Send(frame)

    def _answer(self, message: w.ControlMessage) -> Steps:
        self._in_flight.leave(self._key)
        return (self._send(message), *self._end())

    # --- runs

    def _id(self, run_id: str) -> RunId:
        return RunId(f"{self._opening.link}/{run_id}")

    def _start(self, request: w.RunRequest) -> Step:
        spec = to_spec(request, placed=True)
        run = self._id(request.run_id)
        size = len(codec.encode_edge(attrs.evolve(request, run_id=wire_id(run))))
        if size > self._settings.max_message:
            text = f"the request would be a message of {size} bytes at a node"
            raise Refused("resource_exhausted", text)
        origin = c.Origin(self._opening.link, request.run_id)
        start = c.StartRun(run, spec, origin)
        exists = request.session_mode == w.SessionMode.REQUIRE_EXISTING
        return Submit(c.StartRunIf(start, session_exists=exists, worker_here=True), "run")

    def _attach(self, request: w.AttachRequest) -> Step:
        if not request.run_id:
            raise Refused("invalid_argument", "run_id must not be empty")
        check_ids(run_id=request.run_id)
        self._after = min(request.after_sequence, LARGEST)
        return Submit(c.DescribeRun(self._id(request.run_id)), "run")

    def _accepted(self, answer: Answer) -> Steps:
        if isinstance(answer, Refusal):
            return self._end(of_refusal(answer))
        assert isinstance(answer, Accepted)
        run = answer.after
        assert run is not None
        if run.state.terminal and self._after >= run.last_seq:
            return self._end()
        self._run = run.id
        after = min(self._after, run.last_seq) if self._after > _NEAR else 0
        self._narrator = Narrator(run, run.origin.native_run, started=after > 0)
        return (Follow(run.id, Seq(after)),)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        steps: list[Step] = []
        for recorded in batch:
            if self._over or self._narrator is None:
                break
            told = list(self._narrator.tell(recorded))
            if recorded.seq > self._after:
                steps += map(self._send, told)
            if isinstance(recorded.event, RunFinished) or self._has_enough(told):
                steps += self._end()
        return steps

    def _has_enough(self, told: Sequence[w.RunEvent]) -> bool:
        """Whoever starts a run in the background is told that it began, and no more."""
        background = isinstance(self._asked, w.RunRequest) and self._asked.background
        return background and any(event.type == "start" for event in told)

    def _cancel(self, request: w.CancelRequest) -> Steps:
        try:
            check_ids(run_id=request.run_id, session_id=request.session_id)
            command = q.to_cancel(request, self._id(request.run_id))
        except Refused as refused:
            return self._answer(_canceled(refused))
        return (SpeakOn(), Submit(command, "cancel"))

    # --- questions and nodes

    def _command(self, request: w.NodeCommandRequest, now: int) -> Steps:
        q.check(request)
        error = q.unsupported(request)
        if not error:
            self._key = self._in_flight.take(self._opening, request.request_id)
            error = q.DUPLICATE if self._key is None else ""
        if error:
            return self._answer(q.answer_to(request, error))
        within = q.patience(request, self._settings.command_timeout)
        self._deadlines.set(_ANSWER, now + within)
        command = q.to_command(request, self._opening.link, within, placed=True)
        return (SpeakOn(), Submit(command, "command"))

    def _told(self, answer: Answer) -> Steps:
        """What a node says is an answer; that none can be asked is a status."""
        if not isinstance(answer, Refusal):
            return self._answer(q.to_response(self._asked, answer))
        self._in_flight.leave(self._key)
        return self._end(of_refusal(answer))

    def noticed(self, notice: WorkerNotice, now: int) -> Steps:
        if self._watched is None or self._over:
            return NO_STEPS
        return [self._send(event) for event in self._watched.notice(notice)]


def _canceled(refused: Refused | None) -> w.CancelResponse:
    if refused is None:
        return w.CancelResponse(accepted=True)
    return w.CancelResponse(error=w.Error(refused.code, refused.message))


class Either(BulkConnection):
    """A link whose kind its path tells: a node's link, or a call of EdgeControl."""

    def __init__(self, link: Connection, call: ControlCall) -> None:
        self._call = call
        self._inner = link

    def opened(self, opening: Opening, now: int) -> Steps:
        if opening.path.startswith(w.CONTROL):
            self._inner = self._call
        return self._inner.opened(opening, now)

    def receive(self, frame: bytes, now: int) -> Steps:
        return self._inner.receive(frame, now)

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        inner = self._inner
        return inner.receive_bulk(frames, now) if isinstance(inner, BulkConnection) else None

    def unframed(self, too_long: bool, text: str, now: int) -> Steps:
        inner = self._inner
        return inner.unframed(too_long, text, now) if isinstance(inner, AnswersUnframed) else ()

    def tick(self, now: int) -> Steps:
        return self._inner.tick(now)

    def drain(self, now: int) -> Steps:
        return self._inner.drain(now)

    def closed(self, reason: str, now: int) -> Steps:
        return self._inner.closed(reason, now)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        return self._inner.reply(reply_to, answer, now)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        return self._inner.deliver(batch, now)

    def deliver_bulk(self, batch: Sequence[Recorded], now: int) -> Sequence[bytes] | None:
        inner = self._inner
        return inner.deliver_bulk(batch, now) if isinstance(inner, BulkConnection) else None

    def noticed(self, notice: WorkerNotice, now: int) -> Steps:
        return self._inner.noticed(notice, now)

    def end_session(self, session: str, now: int) -> Steps:
        return self._inner.end_session(session, now)

    def perform(self, order: c.Order, now: int) -> Steps:
        return self._inner.perform(order, now)

    def ask(self, question_id: int, question: c.ProbeWorkers | c.ReadUsage, now: int) -> Steps:
        return self._inner.ask(question_id, question, now)

    def committed(self, run: RunId, native_seq: int, now: int) -> Steps:
        return self._inner.committed(run, native_seq, now)

    def fenced(self, reason: str, now: int) -> Steps:
        return self._inner.fenced(reason, now)

    def dismissed(self, reason: str, now: int) -> Steps:
        return self._inner.dismissed(reason, now)
