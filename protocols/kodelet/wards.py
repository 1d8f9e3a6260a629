"""The runs that a control plane has at one runner: open, ask, cancel, close (W 9, 11, 13.1).

A run of the core is one run at the runner with one call in it. It ends once the runner has
closed it, or has had its time for that.
"""

from __future__ import annotations

from typing import Any, Final

from fleetgate.core.commands import Order, RunSpec
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import (
    Diagnosed,
    Event,
    Outcome,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
)
from fleetgate.core.ids import RunId
from fleetgate.core.worker import InputKind, kind_of
from fleetgate.protocols.api import NO_STEPS, Record, Steps
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import translate_events as te
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.errors import RpcError, is_gone
from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.names import run_id
from fleetgate.protocols.kodelet.peer import Answered, Oversize, Peer
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings, nanos
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.translate import CallTool, conversation_of, from_spec
from fleetgate.protocols.kodelet.ward import CANCELED, Ward, failed, lost

UNCONFIRMED: Final = "; runner cleanup was not confirmed: "
_CLEANUP: Final = "cleanup "


class Wards:
    """All of one connection."""

    def __init__(self, peer: Peer, settings: ControlPlaneSettings, deadlines: Deadlines) -> None:
        self._peer = peer
        self._settings = settings
        self._deadlines = deadlines
        self._wards: dict[str, Ward] = {}
        self.instance = ""
        self.alive: Liveness | None = None

    def __len__(self) -> int:
        return len(self._wards)

    def get(self, id: str) -> Ward | None:
        """A run by its id on the wire."""
        return self._wards.get(id)

    def of(self, run: RunId) -> Ward | None:
        """A run by its id in the core."""
        return next((ward for ward in self._wards.values() if ward.run == run), None)

    def all(self) -> tuple[Ward, ...]:
        """Every run."""
        return tuple(self._wards.values())

    @property
    def phases(self) -> dict[str, RunPhase]:
        """Every run's phase; one that is being closed counts no more (W 8.4)."""
        return {
            id: ward.phase for id, ward in self._wards.items() if ward.phase is not RunPhase.CLOSING
        }

    # --- opening

    def start(self, order: Order, spec: RunSpec) -> Steps:
        """Open a run. What the gate of W 9.1 refuses ends here, and nothing is sent."""
        try:
            ward = self._made(order.run, spec)
            self._check_conversation(ward)
            ward.call = self._peer.call("run.open", self._opening(ward), ("open", ward))
        except UnsupportedInput as refusal:
            return _ended(order.run, failed(refusal.message, Reason.REFUSED))
        except Oversize as error:
            return _ended(order.run, failed(str(error), Reason.REFUSED))
        self._wards[ward.id] = ward
        return NO_STEPS

    def _made(self, run: RunId, spec: RunSpec) -> Ward:
        id = run_id(self.instance, run)
        shell = kind_of(spec.input) is InputKind.SHELL
        return Ward(
            run,
            id,
            conversation_of(spec, id),
            from_spec(spec, self._settings.bash_tool),
            spec.approvals or spec.interactive,
            te.Shown(shell=shell),
        )

    def _check_conversation(self, ward: Ward) -> None:
        for other in self._wards.values():
            if other.conversation == ward.conversation:
                raise UnsupportedInput(
                    f"conversation already has active run {other.id}; a runner takes one at a time"
                )

    def _opening(self, ward: Ward) -> wire.RunOpen:
        settings = self._settings
        agent = wire.Agent(
            settings.provider,
            settings.model,
            environment_profile=settings.environment_profile,
            invoked_by="main",
        )
        seen = wire.ClientCapabilities(interactive_ui=ward.interactive)
        return wire.RunOpen(ward.id, ward.conversation, agent, seen, settings.reserved_tools)

    def answered(self, answer: Answered, now: int) -> Steps:
        """A call about a run was answered."""
        kind, ward = answer.token
        match kind:
            case "open":
                return self._opened(ward, answer, now)
            case "work":
                return self._worked(ward, answer, now)
            case "cancel":
                return self._close(ward, now)
            case _:
                return self._closed(ward, answer.error)

    def _opened(self, ward: Ward, answer: Answered, now: int) -> Steps:
        if answer.error is not None:
            text = f"the runner did not open the run: {answer.error.message}"
            return self._finish(ward, ward.pending or failed(text, Reason.FAILED_TO_START))
        if ward.pending is not None:
            return self._close(ward, now)
        wrong, manifest = self._verify(ward, answer.result)
        if wrong is not None or manifest is None:
            return self._end(ward, failed(wrong or "", Reason.FAILED_TO_START), now)
        assert self.alive is not None
        self.alive.opened(manifest.digest)
        ward.phase = RunPhase.RUNNING
        ward.updates = manifest.capabilities.tool_updates
        started = Record(ward.run, (RunStarted(),))
        wrong = m.check_contexts(manifest)
        if wrong is not None:
            return (started, *self._end(ward, failed(wrong, Reason.FAILED_TO_START), now))
        return (started, *self._work(ward, now))

    def _verify(self, ward: Ward, result: Any) -> tuple[str | None, m.Manifest | None]:
        assert self.alive is not None
        try:
            manifest = m.read_manifest(result)
        except Malformed as error:
            return f"the runner's manifest cannot be read: {error}", None
        whose = m.Opened(self.alive.runner_id, ward.id, self.alive.generation)
        return m.check(manifest, whose, self._settings.reserved_tools), manifest

    # --- working

    def _work(self, ward: Ward, now: int) -> Steps:
        try:
            if isinstance(ward.ask, CallTool):
                ask: Any = wire.ToolExecute(
                    ward.id, ward.tool_call, ward.ask.name, ward.ask.input, ward.updates
                )
                ward.call = self._peer.call("tool.execute", ask, ("work", ward))
            else:
                said = wire.CommandExecute(ward.id, ward.ask.message)
                ward.call = self._peer.call("command.execute", said, ("work", ward))
        except Oversize as error:
            return self._end(ward, failed(str(error), Reason.REFUSED), now)
        return NO_STEPS

    def _worked(self, ward: Ward, answer: Answered, now: int) -> Steps:
        ward.told = True
        if answer.error is not None:
            return self._end(ward, te.from_error(answer.error), now)
        try:
            if not ward.calls_tool:
                return self._end(ward, te.to_command_outcome(answer.result), now)
            executed = te.read_executed(answer.result)
        except Malformed as error:
            ward.told = False
            return self._end(ward, lost(f"{te.UNCERTAIN}{error}"), now)
        outcome, said = te.to_outcome(executed, shell=ward.shown.shell)
        news = ward.shown.news(executed.result)
        told = (Record(ward.run, news),) if news else ()
        ward.last_words = said
        return (*told, *self._end(ward, outcome, now))

    def update(self, update: wire.ToolUpdate) -> Steps:
        """A snapshot of a tool's output. One that is not newer, or not of the call under way,
        is dropped without a word (W 11.4)."""
        ward = self._wards.get(update.run_id)
        if (
            ward is None
            or ward.phase is not RunPhase.RUNNING
            or not ward.updates
            or (update.tool_call_id, update.request_id) != (ward.tool_call, ward.call)
            or update.sequence <= ward.sequence
        ):
            return NO_STEPS
        ward.sequence = update.sequence
        news = ward.shown.news(update.result)
        return (Record(ward.run, news),) if news else NO_STEPS

    def environment_error(self, said: wire.EnvironmentReport, now: int) -> Steps:
        """The runner reports that a run's environment broke: it has failed, and is closed."""
        ward = self._wards.get(said.run_id)
        if ward is None or not ward.active:
            return NO_STEPS
        outcome = failed(said.message[: te.MAX_NATIVE])
        if ward.phase is RunPhase.OPENING:  # it is closed once its manifest has come
            ward.phase, ward.pending = RunPhase.FAILED, outcome
            return NO_STEPS
        self._peer.abandon(ward.call)
        return self._end(ward, outcome, now)

    # --- ending

    def cancel(self, ward: Ward, now: int) -> Steps:
        """Stop a run: the call under way, the run, and then close it (W 9.3). One that is
        still opening is only closed."""
        if not ward.active:
            return NO_STEPS
        opening = ward.phase is RunPhase.OPENING
        self._peer.abandon(ward.call)
        ward.phase, ward.pending = RunPhase.CANCELED, CANCELED
        if opening:
            return self._close(ward, now)
        stop = wire.RunCancel(ward.id, "context canceled")
        ward.call = self._peer.call("run.cancel", stop, ("cancel", ward))
        self._patience(ward, now)
        return NO_STEPS

    def _end(self, ward: Ward, outcome: Outcome, now: int) -> Steps:
        ward.pending = outcome
        return self._close(ward, now)

    def _close(self, ward: Ward, now: int) -> Steps:
        ward.phase = RunPhase.CLOSING
        ward.call = self._peer.call("run.close", wire.RunClose(ward.id), ("close", ward))
        self._patience(ward, now)
        return NO_STEPS

    def _patience(self, ward: Ward, now: int) -> None:
        name = _CLEANUP + ward.id
        if name not in self._deadlines:
            self._deadlines.set(name, now + nanos(self._settings.cleanup_timeout))

    def overdue(self, name: str) -> Steps:
        """A deadline has come; if it is a run's, the runner has had its time to close it."""
        ward = self._wards.get(name.removeprefix(_CLEANUP))
        if ward is None:
            return NO_STEPS
        self._peer.abandon(ward.call)
        return self._unconfirmed(ward, "context deadline exceeded")

    def _closed(self, ward: Ward, error: RpcError | None) -> Steps:
        if error is None or is_gone(error):
            return self._finish(ward, ward.pending or CANCELED)
        return self._unconfirmed(ward, error.message)

    def _unconfirmed(self, ward: Ward, why: str) -> Steps:
        """Without the runner's own word the run is lost; with it, that stays true."""
        outcome = ward.pending or CANCELED
        if not ward.told:
            said = outcome.message or outcome.state.value
            return self._finish(ward, lost(f"{said}{UNCONFIRMED}{why}"))
        ward.last_words += (Diagnosed(f"runner cleanup was not confirmed: {why}", "cleanup"),)
        return self._finish(ward, outcome)

    def missing(self, id: str) -> Steps:
        """The runner has stopped reporting a run; nothing is sent to it."""
        ward = self._wards[id]
        self._peer.abandon_silently(ward.call)
        text = (
            "runner stopped reporting active run for "
            f"{self._settings.omissions} consecutive heartbeats"
        )
        return self._finish(ward, lost(text))

    def lose_all(self, why: str) -> Steps:
        """The link is gone, or counts no more: every run is lost with it, but for those whose
        end the runner has told."""
        wards = list(self._wards.values())
        return [step for ward in wards for step in self._finish(ward, _left(ward, why))]

    def forget(self) -> None:
        """They are another link's from now on."""
        self._wards.clear()

    def _finish(self, ward: Ward, outcome: Outcome) -> Steps:
        self._wards.pop(ward.id, None)
        self._deadlines.clear(_CLEANUP + ward.id)
        for asked in ward.questions.values():
            self._peer.succeed(asked.id, wire.UiResponse("dismissed"))
        events: tuple[Event, ...] = (*ward.last_words, RunFinished(outcome))
        return (Record(ward.run, events),)


def _left(ward: Ward, why: str) -> Outcome:
    if ward.told and ward.pending is not None and ward.pending.state is not RunState.LOST:
        return ward.pending
    return lost(why)


def _ended(run: RunId, outcome: Outcome) -> Steps:
    return (Record(run, (RunFinished(outcome),)),)
