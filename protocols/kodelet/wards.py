"""The runs of the core at one runner: open, ask, close (W 9, 11).

A run of the core is one run at the runner with one call in it. It ends once the runner has
closed it, or has had its time for that.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fleetgate.core.commands import Order, RunSpec
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Diagnosed, Event, Outcome, Reason, RunFinished, RunStarted
from fleetgate.core.ids import RunId
from fleetgate.core.worker import InputKind, kind_of
from fleetgate.protocols.api import NO_STEPS, Record, Steps
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import translate_events as te
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.lease import Ended, Hook, Lease, no_hook
from fleetgate.protocols.kodelet.leases import CANCELED, Denied, Leases
from fleetgate.protocols.kodelet.names import run_id
from fleetgate.protocols.kodelet.peer import Oversize, Peer
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.translate import Ask, CallTool, conversation_of, from_spec
from fleetgate.protocols.kodelet.ward import STOPPED, Ward, failed, lost

TOOL_CALL: Final = "call_1"
"""The id of a run's one tool call."""


class Wards:
    """All of one connection. `others` is the hook of leases that no run of the core has."""

    def __init__(self, peer: Peer, settings: ControlPlaneSettings, leases: Leases) -> None:
        self._peer = peer
        self._settings = settings
        self._leases = leases
        self._wards: dict[str, Ward] = {}
        self.instance = ""
        self.others: Hook = no_hook
        leases.hook = self._hook

    def __len__(self) -> int:
        return len(self._wards)

    def get(self, id: str) -> Ward | None:
        """A run by its id on the wire."""
        return self._wards.get(id)

    def of(self, run: RunId) -> Ward | None:
        """A run by its id in the core."""
        return self._wards.get(run_id(self.instance, run))

    def all(self) -> tuple[Ward, ...]:
        """Every run."""
        return tuple(self._wards.values())

    # --- opening

    def start(self, order: Order, spec: RunSpec) -> Steps:
        """Open a run. What the gate of W 9.1 refuses ends here, and nothing is sent."""
        run = order.run
        try:
            ask = from_spec(spec, self._settings.bash_tool)
            opening = self._opening(run, spec)
            lease = self._leases.open(
                opening, lambda outcome, now: self._opened(opening.run_id, outcome, now)
            )
        except UnsupportedInput as refusal:
            return _ended(run, failed(refusal.message, Reason.REFUSED))
        except (Denied, Oversize) as refusal:
            return _ended(run, failed(str(refusal), Reason.REFUSED))
        shown = te.Shown(shell=kind_of(spec.input) is InputKind.SHELL)
        self._wards[lease.id] = Ward(run, ask, _interactive(spec), shown, lease)
        return NO_STEPS

    def _opening(self, run: RunId, spec: RunSpec) -> wire.RunOpen:
        settings = self._settings
        id = run_id(self.instance, run)
        agent = wire.Agent(
            settings.provider,
            settings.model,
            environment_profile=settings.environment_profile,
            invoked_by="main",
        )
        seen = wire.ClientCapabilities(interactive_ui=_interactive(spec))
        return wire.RunOpen(id, conversation_of(spec, id), agent, seen, settings.reserved_tools)

    def _opened(self, id: str, outcome: Ended, now: int) -> Steps:
        ward = self._wards.get(id)
        if ward is None:
            return NO_STEPS
        lease = ward.lease
        if outcome.error is not None:
            text = f"the runner did not open the run: {outcome.text}"
            return self._finish(ward, ward.pending or failed(text, Reason.FAILED_TO_START))
        if outcome.text:
            said = lost(lease.error) if lease.phase is RunPhase.LOST else ward.pending
            return self._finish(ward, said or failed(lease.error, Reason.FAILED_TO_START))
        assert lease.manifest is not None
        started = Record(ward.run, (RunStarted(),))
        wrong = m.check_contexts(lease.manifest)
        if wrong is not None:
            return (started, *self._end(ward, failed(wrong, Reason.FAILED_TO_START), now))
        return (started, *self._work(ward, ward.ask, now))

    # --- working

    def _work(self, ward: Ward, ask: Ask, now: int) -> Steps:
        worked = partial(self._worked, ward)
        try:
            if isinstance(ask, CallTool):
                asked = wire.ToolExecute(ward.id, TOOL_CALL, ask.name, ask.input)
                told = partial(self._news, ward)
                ward.call = self._leases.execute(ward.lease, asked, worked, told)
            else:
                said = wire.CommandExecute(ward.id, ask.message)
                ward.call = self._leases.call(ward.lease, "command.execute", said, worked)
        except Oversize as error:
            return self._end(ward, failed(str(error), Reason.REFUSED), now)
        return NO_STEPS

    def _worked(self, ward: Ward, outcome: Ended, now: int) -> Steps:
        ward.told = True
        if outcome.error is not None:
            return self._end(ward, te.from_error(outcome.error), now)
        try:
            ending, news = self._read_answer(ward, outcome.result)
        except Malformed as error:
            ward.told = False
            return self._end(ward, lost(f"{te.UNCERTAIN}{error}"), now)
        told = (Record(ward.run, news),) if news else ()
        return (*told, *self._end(ward, ending, now))

    def _read_answer(self, ward: Ward, result: Any) -> tuple[Outcome, tuple[Event, ...]]:
        if not ward.calls_tool:
            return te.to_command_outcome(result)
        executed = te.read_executed(result)
        ending, ward.last_words = te.to_outcome(executed, shell=ward.shown.shell)
        return ending, ward.shown.news(executed.result)

    def _news(self, ward: Ward, update: wire.ToolUpdate) -> Steps:
        news = ward.shown.news(update.result)
        return (Record(ward.run, news),) if news else NO_STEPS

    # --- ending

    def cancel(self, ward: Ward, now: int) -> Steps:
        """Stop a run: the call under way, the run, and then close it (W 9.3). One that is still
        opening is only closed."""
        lease = ward.lease
        if not lease.active:
            return NO_STEPS
        stop = "" if lease.phase is RunPhase.OPENING else CANCELED
        return self._end(ward, STOPPED, now, stop)

    def _end(self, ward: Ward, outcome: Outcome, now: int, stop: str = "") -> Steps:
        if ward.call:
            self._leases.abandon(ward.call)
        ward.pending = outcome
        ward.lease.phase, ward.lease.error = RunPhase(outcome.state.value), outcome.message
        return self._leases.release(ward.lease, partial(self._released, ward), now, stop)

    def _released(self, ward: Ward, outcome: Ended, now: int) -> Steps:
        """Without the runner's own word a run whose end is not confirmed is lost; with it, that
        stays true."""
        ending = ward.pending or STOPPED
        if not outcome.text:
            return self._finish(ward, ending)
        if not ward.told:
            said = ending.message or ending.state.value
            return self._finish(ward, lost(f"{said}; {outcome.text}"))
        ward.last_words += (Diagnosed(wire.cut(outcome.text), "cleanup"),)
        return self._finish(ward, ending)

    def _hook(self, lease: Lease, now: int) -> Steps:
        """Something happened to a run unasked."""
        ward = self._wards.get(lease.id)
        if ward is None:
            return self.others(lease, now)
        if lease.phase is RunPhase.LOST:
            self._peer.abandon_silently(ward.call)
            return self._finish(ward, _left(ward, lease.error))
        outcome = failed(lease.error)
        if lease.call:  # it is closed once its manifest has come
            ward.pending = outcome
            return NO_STEPS
        return self._end(ward, outcome, now)

    def forget(self) -> None:
        """They are another link's from now on."""
        for ward in self._wards.values():
            self._peer.abandon_silently(ward.call)
            self._leases.forget(ward.lease)
        self._wards.clear()

    def _finish(self, ward: Ward, outcome: Outcome) -> Steps:
        if self._wards.pop(ward.id, None) is None:
            return NO_STEPS
        for asked in ward.questions.values():
            self._peer.succeed(asked.id, wire.UiResponse("dismissed"))
        events: tuple[Event, ...] = (*ward.last_words, RunFinished(outcome))
        return (Record(ward.run, events),)


def _interactive(spec: RunSpec) -> bool:
    return spec.approvals or spec.interactive


def _left(ward: Ward, why: str) -> Outcome:
    """How a run ends whose runner is gone: as the runner has said, where it has."""
    return ward.pending if ward.told and ward.pending is not None else lost(why)


def _ended(run: RunId, outcome: Outcome) -> Steps:
    return (Record(run, (RunFinished(outcome),)),)
