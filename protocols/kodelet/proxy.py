"""The UI proxy at a control plane: a runner's `ui.*` requests as approvals of its runs (W 12.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fleetgate.core import commands as c
from fleetgate.core.events import ApprovalResolved, Decision, Diagnosed
from fleetgate.protocols.api import NO_STEPS, Record, Steps
from fleetgate.protocols.kodelet import errors, ui, wire
from fleetgate.protocols.kodelet.errors import invalid
from fleetgate.protocols.kodelet.go_json import trim
from fleetgate.protocols.kodelet.handling import Refused, read_params
from fleetgate.protocols.kodelet.leases import Leases
from fleetgate.protocols.kodelet.peer import Called, Peer
from fleetgate.protocols.kodelet.ward import Asked, Ward
from fleetgate.protocols.kodelet.wards import Wards

Watch: TypeAlias = Callable[[str, wire.UiCall], None]
"""Sees a request: its method and its params."""


def unwatched(method: str, call: wire.UiCall) -> None:
    """Nobody looks on."""


StandIn: TypeAlias = Callable[[str, wire.UiCall], wire.UiResponse]
"""Answers a question: its method and its params."""


def nobody(method: str, call: wire.UiCall) -> wire.UiResponse:
    """Nobody is there."""
    return ui.unavailable(method)


class Proxy:
    """Of one connection. A question is open until a person, a newer one, the runner, or the run's
    end closes it. For runs that no run of the core has, `stand_in` answers what can be answered,
    and `watch` sees all."""

    def __init__(self, peer: Peer, wards: Wards, leases: Leases) -> None:
        self._peer = peer
        self._wards = wards
        self._leases = leases
        self.stand_in: StandIn = nobody
        self.watch: Watch = unwatched

    def ask(self, called: Called) -> Steps:
        """A request has come.

        Raises: `Refused`, `Malformed`.
        """
        # Imported here: a dozen classes, and few runners ever ask.
        from fleetgate.protocols.kodelet.ui_requests import read_question

        method = called.method
        call = read_params(wire.UiCall, called)
        question = read_question(method, call.request)
        if not trim(call.run_id):
            raise Refused(invalid("runId is required"))
        lease = self._leases.get(call.run_id)
        if lease is None or not lease.active:
            raise Refused(errors.INACTIVE_UI)
        ward = self._wards.get(call.run_id)
        if ward is None:
            self.watch(method, call)
        if question is None:
            self._peer.succeed(called.id, ui.no_surface(method))
            return NO_STEPS
        if ward is None:
            self._peer.succeed(called.id, self.stand_in(method, call))
            return NO_STEPS
        if not ward.interactive:
            self._peer.succeed(called.id, ui.unavailable(method))
            return NO_STEPS
        return self._put(ward, called, question)

    def _put(self, ward: Ward, called: Called, question: wire.Question) -> Steps:
        if called.method == "ui.notify":
            self._peer.succeed(called.id, wire.UiResponse("submitted"))
            text = ": ".join(part for part in (question.title, question.message) if part)
            return (Record(ward.run, (Diagnosed(wire.cut(text), "ui_notify"),)),)
        if ui.too_long(question, called.id):
            self._peer.succeed(called.id, ui.TOO_LONG)
            return NO_STEPS
        event = ui.to_approval(called.method, question, called.id)
        steps = self._dismiss(ward, event.approval)
        ward.questions[event.approval] = Asked(called.id, called.method, question.default_value)
        return (*steps, Record(ward.run, (event,)))

    def _dismiss(self, ward: Ward, approval: str) -> Steps:
        """A newer question with the id of an open one takes its place."""
        old = ward.questions.pop(approval, None)
        if old is None:
            return NO_STEPS
        self._peer.succeed(old.id, wire.UiResponse("dismissed"))
        return (_denied(ward, approval),)

    def cancel(self, id: str) -> Steps:
        """The runner gives up a request: a question, for all others are answered at once."""
        for ward in self._wards.all():
            for approval, asked in ward.questions.items():
                if asked.id == id:
                    del ward.questions[approval]
                    self._peer.fail(id, errors.CANCELED)
                    return (_denied(ward, approval),)
        return NO_STEPS

    def resolve(self, ward: Ward | None, command: c.ResolveApproval) -> None:
        """A person has answered. One that is not open any more needs no answer."""
        asked = ward.questions.pop(command.approval, None) if ward is not None else None
        if asked is not None:
            answer = ui.from_decision(asked.method, asked.default, command.decision, command.value)
            self._peer.succeed(asked.id, answer)


def _denied(ward: Ward, approval: str) -> Record:
    return Record(ward.run, (ApprovalResolved(approval, Decision.DENY),))
