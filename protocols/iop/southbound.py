"""The edge of nodes: one node's link, or with `control` one call of a control client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core.answers import Admission, Answer
from fleetgate.core.commands import Order
from fleetgate.core.errors import Refusal, Unavailable, UnsupportedInput
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.times import nanos
from fleetgate.protocols.api import (
    NO_STEPS,
    AnnounceWorker,
    Close,
    Established,
    Notify,
    Opening,
    Pause,
    Record,
    RemoteProtocolError,
    Report,
    ReportCapacity,
    Resume,
    Send,
    Settle,
    Step,
    Steps,
    WithdrawWorker,
    WorkerReady,
)
from fleetgate.protocols.bulk import Bulk, BulkConnection
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.config import enabled_types, read_config
from fleetgate.protocols.iop.errors import LONGEST, Refused, close_with, of_refusal
from fleetgate.protocols.iop.foreign import Asked
from fleetgate.protocols.iop.given import GivenRuns
from fleetgate.protocols.iop.heard import TYPES, tracked_of
from fleetgate.protocols.iop.pulse import BEAT, DEAD, Pulse
from fleetgate.protocols.iop.questions import ASK, Questions
from fleetgate.protocols.iop.settings import EdgeSettings
from fleetgate.protocols.iop.state import NODE_MAY, Phase
from fleetgate.protocols.iop.translate import Defaults, from_spec, to_worker, wire_id

_REGISTER: Final = "register"
REPLACED: Final = "replaced"


class EdgeConnection(BulkConnection):
    """An edge's end of a node's link."""

    def __init__(self, settings: EdgeSettings) -> None:
        self._settings = settings
        self._opening = Opening(link="")
        self._phase = Phase.NEW
        self._deadlines = Deadlines()
        self._pulse = Pulse(self._deadlines, nanos(settings.heartbeat), nanos(settings.dead_after))
        self._runs = GivenRuns(settings, self._deadlines)
        self._questions = Questions(settings, self._deadlines)
        self._config = w.NodeConfigPayload()
        self._node = ""
        self._worker = WorkerId("")
        self._alias = ""
        self._free = settings.open_runs
        self._draining = False

    # --- what the driver tells

    def opened(self, opening: Opening, now: int) -> Steps:
        self._opening = opening
        self._deadlines.set(_REGISTER, now + nanos(self._settings.register_timeout))
        return self._deadlines.wake()

    def receive(self, frame: bytes, now: int) -> Steps:
        try:
            message = codec.decode_node(frame)
        except RemoteProtocolError as error:
            raise self._violation(str(error)) from None
        self._pulse.hear(now)
        if type(message) not in NODE_MAY[self._phase]:
            what = type(message).__name__
            raise self._violation(f"{what} came where the link is {self._phase.value}")
        return self._after(self._taken(message, now), now)

    def receive_bulk(self, frames: Sequence[bytes], now: int) -> Bulk | None:
        if self._phase is not Phase.LIVE:
            return None
        bulk = self._runs.deltas(codec.deltas_of(frames))
        if bulk is not None:
            self._pulse.hear(now)
        return bulk

    def _violation(self, text: str) -> RemoteProtocolError:
        return RemoteProtocolError(text, self._ending("protocol_violation", text))

    def unframed(self, too_long: bool, text: str, now: int) -> Steps:
        """Say what was wrong: without a status this is all that a node hears."""
        return self._ending("resource_exhausted" if too_long else "protocol_violation", text)

    def _ending(self, code: str, text: str, reason: str = "") -> Steps:
        """Say why, withdraw, end the link."""
        error = Send(codec.encode_edge(w.Error(code, text[:LONGEST])))
        live = self._phase is Phase.LIVE
        self._phase = Phase.OVER
        close = close_with(code, f"{code}: {text}", retry=code != REPLACED)
        if not live:
            return (error, close)
        return (error, WithdrawWorker(reason or code), close)

    def _taken(self, message: w.NodePayload, now: int) -> Steps:
        match message:
            case w.RegisterRequest(token=token):
                return self._register(token)
            case w.RunEvent():
                return self._run_event(message, now)
            case w.NodeCommandResponse():
                return self._questions.answered(message)
            case w.EdgeNodeEvent():
                return (Notify(self._own(message)),)
            case w.Error():
                return self._node_error(message)
            case w.Unknown():
                return (Report("iop_unknown_message", "from the node"),)
            case _:
                return NO_STEPS

    def _own(self, event: w.EdgeNodeEvent) -> dict[str, Any]:
        """A node speaks for itself and for nobody else."""
        own = attrs.evolve(event, source="node", node_id=self._node, alias=self._alias)
        return codec.to_json(own)

    def tick(self, now: int) -> Steps:
        steps: list[Step] = []
        for name in self._deadlines.due(now):
            if name == _REGISTER:
                return self._ending("protocol_violation", "no register came in time")
            if name == DEAD and self._pulse.dead(now):
                return self._ending("unavailable", "the node was silent for too long", "timeout")
            if name == BEAT and self._pulse.beats(now):
                steps.append(Send(codec.encode_edge(w.Heartbeat(now))))
            elif name.startswith(ASK):
                steps += self._questions.overdue(name)
            else:
                steps += self._runs.overdue(name)
        return self._after(steps, now)

    def drain(self, now: int) -> Steps:
        """Give it no more runs; those it has wait for us."""
        self._draining = True
        return self._after(NO_STEPS, now)

    def fenced(self, reason: str, now: int) -> Steps:
        self._phase = Phase.OVER
        text = "a newer link of this node took over"
        return (
            Send(codec.encode_edge(w.Error(REPLACED, text))),
            close_with(REPLACED, text, retry=False),
        )

    def end_session(self, session: str, now: int) -> Steps:
        action = w.CancelAction.TERMINATE_SESSION
        cancel = w.CancelRequest(session_id=session, action=action)
        return self._after((Send(codec.encode_edge(cancel)),), now)

    def _after(self, given: Steps, now: int) -> Steps:
        """The steps, and what follows from them for capacity and time."""
        steps = [*given]
        if any(isinstance(step, Close) for step in steps):
            return steps
        if self._phase is Phase.LIVE:
            free = 0 if self._draining else max(0, self._settings.open_runs - len(self._runs))
            if free != self._free:
                self._free = free
                steps.append(ReportCapacity(free))
        if any(isinstance(step, Send) for step in steps):
            self._pulse.say(now)
        return [*steps, *self._deadlines.wake()]

    # --- registration

    def _register(self, token: str) -> Steps:
        try:
            node = self._opening.identify(token) if token else None
        except Unavailable as unavailable:
            return self._ending("unavailable", unavailable.message)
        if node is None or node in self._settings.controllers:
            return self._not_registered("the token names no node")
        self._phase = Phase.ADMITTING
        self._deadlines.clear(_REGISTER)
        own = self._settings.nodes.get(node)
        self._node = node
        self._alias = (own.alias if own else "") or self._settings.alias or node
        table = self._settings.config if own is None or own.config is None else own.config
        self._config = read_config(table)
        grace = nanos(self._settings.reconnect_grace)
        enabled = enabled_types(self._config)
        info = to_worker(self._opening.link, node, self._alias, enabled, grace)
        self._worker = info.id
        return (AnnounceWorker(info), Pause())

    def dismissed(self, reason: str, now: int) -> Steps:
        """Say it in the last message; the call's status says it, too."""
        self._phase = Phase.OVER
        return (Send(codec.encode_edge(w.Error("unauthenticated", reason))),)

    def _not_registered(self, reason: str) -> Steps:
        self._phase = Phase.OVER
        refused = w.RegisterResponse(accepted=False, reason=reason)
        close = close_with("unauthenticated", reason, retry=False)
        return (Send(codec.encode_edge(refused)), close)

    def reply(self, reply_to: Any, answer: Answer, now: int) -> Steps:
        if isinstance(reply_to, Asked):
            return self._after(self._runs.foreign.described(reply_to, answer, self._worker), now)
        if not isinstance(answer, Admission):
            assert isinstance(answer, Refusal)
            refused = of_refusal(answer)
            return self._ending(refused.code, refused.message)
        self._phase = Phase.LIVE
        self._pulse.begin(now)
        registered = w.RegisterResponse(
            accepted=True, node_id=self._node, alias=self._alias, config=self._config
        )
        steps: list[Step] = [Send(codec.encode_edge(registered))]
        for held in answer.held:
            self._runs.take_up(tracked_of(held.run), held.run, now)
            for order in held.orders:
                steps += self._order(order)
        self._free = max(0, self._settings.open_runs - len(self._runs))
        steps += (WorkerReady(self._free), Established(), Resume())
        return self._after(steps, now)

    # --- events

    def _run_event(self, event: w.RunEvent, now: int) -> Steps:
        if event.type not in TYPES:
            return (Report("iop_unknown_event_type", "from the node"),)
        return self._runs.heard(event, now)

    def _node_error(self, error: w.Error) -> Steps:
        """About a run, as its text says, or about the node itself."""
        report = Report("iop_node_error", f"{error.code[:64]}: {error.message[:LONGEST]}")
        return (report, *self._runs.refused(error))

    # --- orders and questions

    def perform(self, order: Order, now: int) -> Steps:
        return self._after(self._order(order), now)

    def _order(self, order: Order) -> Steps:
        command = order.command
        match command:
            case c.StartRun(spec=spec):
                return self._start(order, spec)
            case c.CancelRun() | c.SignalRun():
                cancel = self._runs.cancel(order.run)
                sent = () if cancel is None else (Send(codec.encode_edge(cancel)),)
                return (*sent, Settle(order.run, order.number))
            case c.SendInput() | c.CloseInput() if self._runs.feeds(order):
                return NO_STEPS
            case c.ResolveApproval():
                said = "a node is not told how an approval was decided"
            case _:
                said = f"a node takes no {type(command).__name__}; start a new run instead"
        return (Settle(order.run, order.number, UnsupportedInput(said)),)

    def _start(self, order: Order, spec: c.RunSpec) -> Steps:
        run = order.run
        self._free -= 1  # the core has counted one off
        try:
            request, frame = self._request(run, spec)
        except Refused as refused:
            end = Outcome(RunState.FAILED, Reason.REFUSED, str(refused))
            return (Record(run, (RunFinished(end),)),)
        self._runs.give(run, request, spec, order.created)
        return (Send(frame),)

    def _request(self, run: RunId, spec: c.RunSpec) -> tuple[w.RunRequest, bytes]:
        """Raises: `Refused`."""
        defaults = Defaults(self._settings.adapter, self._settings.target)
        request = from_spec(wire_id(run), spec, defaults)
        enabled = enabled_types(self._config)
        if enabled is not None and request.adapter not in enabled:
            text = f"the adapter {request.adapter[:64]} is not enabled at node {self._node}"
            raise Refused("unsupported_adapter", text)
        frame = codec.encode_edge(request)
        limit = self._settings.max_message
        if len(frame) > limit:
            text = f"the request has {len(frame)} bytes, and a message may have {limit}"
            raise Refused("resource_exhausted", text)
        return request, frame

    def ask(self, question_id: int, question: c.ProbeWorkers | c.ReadUsage, now: int) -> Steps:
        enabled = enabled_types(self._config)
        return self._after(self._questions.ask(question_id, question, enabled, now), now)
