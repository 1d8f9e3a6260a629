"""A run: its state, the one transition table, `decide` and `evolve`.

`decide(run, command)` says what a command means for a run: events to record, and
whether the worker must hear of it. `evolve(run, event)` says what a run is after
an event. Both are pure; both raise and change nothing where something is illegal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import attrs

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import (
    ApprovalNotFound,
    Conflict,
    IllegalTransition,
    InvalidArgument,
    RunEnded,
)
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.json import NOTHING, Json, same

S = RunState
_ENDS: Final = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELED, S.LOST})

TRANSITIONS: Final[Mapping[RunState, frozenset[RunState]]] = MappingProxyType(
    {
        S.QUEUED: frozenset({S.QUEUED, S.STARTING}) | _ENDS,
        S.STARTING: frozenset({S.STARTING, S.RUNNING, S.WAITING, S.FINISHING}) | _ENDS,
        S.RUNNING: frozenset({S.RUNNING, S.WAITING, S.FINISHING}) | _ENDS,
        S.WAITING: frozenset({S.RUNNING, S.WAITING, S.FINISHING}) | _ENDS,
        S.FINISHING: frozenset({S.FINISHING}) | _ENDS,
        S.SUCCEEDED: frozenset(),
        S.FAILED: frozenset(),
        S.CANCELED: frozenset(),
        S.LOST: frozenset(),
    }
)
"""From which state a run may go to which. A state may follow itself where that says
something new, as a worker's `accepted` within `starting` does."""


MAX_APPROVALS: Final = 256
"""Approvals that a run may wait for at once: an agent asks for one, or for a few where it
calls tools side by side, and each is written with the run's row (I9)."""


@attrs.frozen(slots=True)
class Run:
    """A run as it stands.

    `pool` is the southbound entry that its route leads to, `routed` the spec as the
    route made it for a worker there (None: unchanged).
    `last_seq` is the number of its last event, `native_seq` the worker's own number of
    the last event taken from it (0: none). `accepted`: the worker is known to have taken
    it. `inputs` counts the inputs given, `inputs_accepted` those the worker confirmed.
    `orders` is the number of the last order. `approvals` are the open ones.
    `acknowledged` is what its controller has confirmed. `notes` is what adapters keep.
    `canceling`: its worker is being told to stop. `native_session` and `model` are the
    worker's own words, `usage` its latest report. `outcome`: None until its end.
    `created`, `started`, `ended`: Unix nanoseconds (0: not yet). `clock`: at least this late its
    worker's clock was (0: the worker says none); its last event has the latest (`Source.time`).
    """

    id: RunId
    spec: c.RunSpec
    origin: c.Origin
    created: int
    pool: str = ""
    routed: c.RunSpec | None = None
    state: RunState = S.QUEUED
    last_seq: Seq = Seq(0)
    native_seq: int = 0
    worker: WorkerId | None = None
    epoch: Epoch = Epoch(0)
    accepted: bool = False
    native_session: str | None = None
    model: str | None = None
    inputs: int = 0
    inputs_accepted: int = 0
    input_closed: bool = False
    orders: OrderNumber = OrderNumber(0)
    approvals: tuple[str, ...] = ()
    canceling: bool = False
    acknowledged: Seq = Seq(0)
    usage: e.UsageReported | None = None
    outcome: Outcome | None = None
    started: int = 0
    ended: int = 0
    notes: Mapping[str, Json] = NOTHING
    clock: int = 0

    @property
    def work(self) -> c.RunSpec:
        """The spec that a worker is given."""
        return self.spec if self.routed is None else self.routed

    @property
    def awaits_script(self) -> bool:
        """Whether it cannot be given to a worker before its script is complete."""
        given = self.spec.input
        return (
            isinstance(given, c.ShellCommand)
            and given.script is not None
            and given.script.data is None
        )


@attrs.frozen(slots=True)
class Verdict:
    """What a command means: events to record, whether its worker is given an order, and
    the run as it is once both are done (before the events)."""

    run: Run
    events: tuple[e.Event, ...] = ()
    order: bool = False


def start(command: c.StartRun, now: int) -> Verdict:
    """Accept a new run."""
    run = Run(command.run, command.spec, command.origin, created=now)
    if run.awaits_script:
        return Verdict(run, (e.StateChanged(S.QUEUED, "awaiting_script"),))
    return Verdict(run, _announced(run.spec))


def _announced(spec: c.RunSpec) -> tuple[e.Event, ...]:
    return (e.StateChanged(S.QUEUED, "queued"),) if spec.announce else ()


def decide(run: Run, command: c.RunCommand) -> Verdict:
    """Judge a command for an existing run.

    Raises: `Refusal` subclasses. Nothing is recorded then.
    """
    if isinstance(command, c.StartRun):
        return _start_again(run, command)
    if isinstance(command, c.CancelRun):
        return _cancel(run)
    if run.state.terminal:
        raise RunEnded(f"run {run.id} has ended ({run.state.value}); it takes no more commands")
    match command:
        case c.SupplyScript():
            return _supply_script(run, command)
        case c.SendInput() | c.CloseInput():
            return _input(run, command)
        case c.SignalRun():
            return _give(run) if run.worker else _cancel(run)
        case c.ResolveApproval():
            return _resolve(run, command)
        case c.ResizeTerminal():
            return _give(run)


def _start_again(run: Run, command: c.StartRun) -> Verdict:
    if not _same_origin(command.origin, run.origin) or not same_request(command.spec, run.spec):
        raise Conflict(f"run {run.id} exists with another request; choose a new id")
    return Verdict(run)


def _same_origin(one: c.Origin, other: c.Origin) -> bool:
    """Whether the same controller asks. Where nobody was asked for a name, any is the same."""
    named = {one.controller, other.controller} - {""}
    return (one.link, one.native_run) == (other.link, other.native_run) and len(named) < 2


def same_request(one: c.RunSpec, other: c.RunSpec) -> bool:
    """Whether two specs ask for the same. A script is compared by its digest."""
    if _without_upload(one) != _without_upload(other):
        return False
    return all(map(same, _free_form(one), _free_form(other)))


def _free_form(spec: c.RunSpec) -> tuple[Json, ...]:
    match spec.input:
        case c.Prompt(messages=given) | c.ToolCall(input=given):
            return (spec.metadata, spec.native, given)
        case c.ShellCommand():
            return (spec.metadata, spec.native)


def _without_upload(spec: c.RunSpec) -> c.RunSpec:
    given = spec.input
    if isinstance(given, c.ShellCommand) and given.script is not None:
        bare = attrs.evolve(given, script=attrs.evolve(given.script, data=None))
        return attrs.evolve(spec, input=bare)
    return spec


def _supply_script(run: Run, command: c.SupplyScript) -> Verdict:
    given = run.spec.input
    if not (isinstance(given, c.ShellCommand) and given.script) or given.script.data is not None:
        raise Conflict(f"run {run.id} does not wait for a script")
    if run.state is not S.QUEUED:  # nothing was given to a worker, so nothing can have begun
        raise Conflict(f"run {run.id} is {run.state.value} and waits for no script any more")
    script = given.script
    if len(command.data) != script.size or hashlib.sha256(command.data).digest() != script.sha256:
        raise InvalidArgument(
            f"the script of run {run.id} must have {script.size} bytes and the announced "
            f"SHA-256; {len(command.data)} bytes came"
        )
    whole = attrs.evolve(given, script=attrs.evolve(script, data=command.data))
    spec = attrs.evolve(run.spec, input=whole)
    return Verdict(attrs.evolve(run, spec=spec), _announced(spec))


def _input(run: Run, command: c.SendInput | c.CloseInput) -> Verdict:
    if not (run.spec.interactive or run.spec.approvals):
        raise InvalidArgument(
            f"run {run.id} was not started interactive, so it takes no input; "
            "start it with interactive = true"
        )
    if run.input_closed:
        raise InvalidArgument(f"the input of run {run.id} is closed")
    return give_input(run, closes=isinstance(command, c.CloseInput))


def give_input(run: Run, *, closes: bool) -> Verdict:
    """The verdict that numbers one more input."""
    return _give(attrs.evolve(run, inputs=run.inputs + 1, input_closed=closes))


def _give(run: Run) -> Verdict:
    return Verdict(attrs.evolve(run, orders=OrderNumber(run.orders + 1)), order=True)


def _cancel(run: Run) -> Verdict:
    if run.state.terminal:
        return Verdict(attrs.evolve(run, canceling=True))
    run = attrs.evolve(run, canceling=True)
    if run.worker is None:
        gone = Outcome(S.CANCELED, Reason.CANCELED, "canceled before it was given to a worker")
        return Verdict(run, (e.RunFinished(gone),))
    return _give(run)


def _resolve(run: Run, command: c.ResolveApproval) -> Verdict:
    if command.approval not in run.approvals:
        waiting = ", ".join(run.approvals) or "none"
        raise ApprovalNotFound(
            f"run {run.id} does not wait for that approval; open approvals: {waiting}"
        )
    given = _give(run)
    said = e.ApprovalResolved(command.approval, command.decision, command.value)
    return attrs.evolve(given, events=(said,))


ACTIVITY: Final = frozenset(
    {
        e.SessionOpened,
        e.TextProduced,
        e.ReasoningProduced,
        e.OutputProduced,
        e.MessageEnded,
        e.ToolCalled,
        e.ToolProgressed,
        e.ToolReturned,
    }
)
"""Events that show the work is under way, whatever state was known before."""


def evolve(run: Run, event: e.Event) -> Run:
    """The run after `event`; its numbers (`last_seq`, `native_seq`) are the caller's to set.

    Returns the same object where the event changes nothing but the numbers.
    Raises: `IllegalTransition`, and nothing has changed.
    """
    kind = type(event)
    if kind in ACTIVITY:
        return _active(run, event)
    match event:
        case e.RunAssigned():
            moved = _moved(run, S.STARTING)
            return attrs.evolve(moved, worker=event.worker, epoch=event.epoch)
        case e.RunStarted():
            return _moved(run, S.RUNNING)
        case e.StateChanged():
            return _changed(run, event)
        case e.ApprovalRequested():
            return _asked(run, event)
        case e.ApprovalResolved():
            return _resolved(run, event)
        case e.InputAccepted():
            most = max(run.inputs_accepted, min(event.through, run.inputs))
            return attrs.evolve(_alive(run), inputs_accepted=most)
        case e.UsageReported():
            return attrs.evolve(_alive(run), usage=event)
        case e.RunFinished():
            return attrs.evolve(
                _moved(run, event.outcome.state), outcome=event.outcome, approvals=()
            )
        case _:
            return _alive(run)


def _active(run: Run, event: e.Event) -> Run:
    state = run.state
    if state is not S.RUNNING and state is not S.FINISHING:
        run = _moved(run, S.RUNNING)
    if isinstance(event, e.SessionOpened):
        return attrs.evolve(run, native_session=event.native_session, model=event.model)
    return run


def _changed(run: Run, event: e.StateChanged) -> Run:
    if event.state.terminal:
        raise IllegalTransition(
            f"run {run.id}: a state change to {event.state.value} needs RunFinished"
        )
    return _moved(run, event.state)


def _asked(run: Run, event: e.ApprovalRequested) -> Run:
    asked = tuple(dict.fromkeys((*run.approvals, event.approval)))
    if len(asked) > MAX_APPROVALS:
        raise IllegalTransition(f"run {run.id} waits for {MAX_APPROVALS} approvals already")
    return attrs.evolve(_moved(run, S.WAITING), approvals=asked)


def _resolved(run: Run, event: e.ApprovalResolved) -> Run:
    rest = tuple(a for a in run.approvals if a != event.approval)
    if run.state is S.WAITING and not rest:
        run = _moved(run, S.RUNNING)
    return attrs.evolve(_alive(run), approvals=rest)


def _alive(run: Run) -> Run:
    if run.state.terminal:
        raise IllegalTransition(f"run {run.id} has ended ({run.state.value}); nothing may follow")
    return run


def _moved(run: Run, to: RunState) -> Run:
    if to not in TRANSITIONS[run.state]:
        raise IllegalTransition(f"run {run.id} cannot go from {run.state.value} to {to.value}")
    return run if run.state is to else attrs.evolve(run, state=to)


def stamped(run: Run, now: int, *, heard: bool) -> Run:
    """A run behind events that were recorded at `now`: when it was started and ended, and, where
    its worker was `heard` of it, that it was accepted."""
    if heard and not run.accepted:
        run = attrs.evolve(run, accepted=True)
    if run.state is S.RUNNING and not run.started:
        run = attrs.evolve(run, started=now)
    if run.state.terminal and not run.ended:
        run = attrs.evolve(run, ended=now)
    return run
