"""A run: the transition table, `evolve` against it, and `decide`."""

import copy
import hashlib
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core import testing as t
from fleetgate.core.drawing import examples
from fleetgate.core.errors import (
    ApprovalNotFound,
    Conflict,
    IllegalTransition,
    InvalidArgument,
    Refusal,
    RunEnded,
)
from fleetgate.core.events import RunState as S
from fleetgate.core.ids import Epoch, RunId, WorkerId
from fleetgate.core.run import (
    MAX_APPROVALS,
    TRANSITIONS,
    Run,
    Verdict,
    decide,
    evolve,
    same_request,
    stamped,
    start,
)

RANK = {S.QUEUED: 0, S.STARTING: 1, S.RUNNING: 2, S.WAITING: 2, S.FINISHING: 3}
"""A run only moves on; within a rank it moves freely. An end has no rank: it is for good."""

ACTIVITY = (
    e.SessionOpened,
    e.TextProduced,
    e.ReasoningProduced,
    e.OutputProduced,
    e.MessageEnded,
    e.ToolCalled,
    e.ToolProgressed,
    e.ToolReturned,
)

CHANGES: dict[type[Any], set[str]] = {
    e.RunAssigned: {"state", "worker", "epoch"},
    e.SessionOpened: {"state", "native_session", "model"},
    e.ApprovalRequested: {"state", "approvals"},
    e.ApprovalResolved: {"state", "approvals"},
    e.InputAccepted: {"inputs_accepted"},
    e.UsageReported: {"usage"},
    e.RunFinished: {"state", "outcome", "approvals"},
    e.RunStarted: {"state"},
    e.StateChanged: {"state"},
}
"""What an event may change beside the numbers, which are the journal's to set."""

one_of_each = st.tuples(*(t.events(kind) for kind in t.EVENT_KINDS))


def may_follow(now: S, then: S) -> bool:
    """The table again, as a rule."""
    if now.terminal:
        return False
    if then.terminal:
        return True
    if now is S.QUEUED:
        return RANK[then] <= RANK[S.STARTING]
    return RANK[then] >= RANK[now]


def leads_to(run: Run, event: e.Event) -> S:
    """Where an event would lead a run."""
    match event:
        case e.RunAssigned():
            return S.STARTING
        case e.RunStarted():
            return S.RUNNING
        case e.StateChanged(state=state):
            return state
        case e.ApprovalRequested():
            return S.WAITING
        case e.RunFinished(outcome=outcome):
            return outcome.state
        case e.ApprovalResolved() if run.state is S.WAITING:
            return S.WAITING if set(run.approvals) - {event.approval} else S.RUNNING
        case _ if isinstance(event, ACTIVITY) and run.state is not S.FINISHING:
            return S.RUNNING
        case _:
            return run.state


def members(run: Run) -> dict[str, Any]:
    return {member.name: getattr(run, member.name) for member in attrs.fields(Run)}


def make_run(**members: Any) -> Run:
    spec = c.RunSpec(c.Prompt("hello"), interactive=True)
    first = start(c.StartRun(RunId("gui/run-1"), spec, c.Origin("gui", "run-1")), now=1).run
    return attrs.evolve(first, **members)


# --- the table


@pytest.mark.parametrize("now", S)
def test_the_table_lets_a_run_only_move_on(now: S) -> None:
    assert TRANSITIONS[now] == {then for then in S if may_follow(now, then)}


def test_the_table_cannot_be_written_to() -> None:
    table: Any = TRANSITIONS
    with pytest.raises(TypeError):
        table[S.LOST] = frozenset(S)


# --- evolve


@pytest.mark.parametrize("state", S)
@settings(max_examples=examples(10))
@given(run=t.runs(), batch=one_of_each)
def test_every_event_follows_the_table_in_every_state(
    state: S, run: Run, batch: tuple[e.Event, ...]
) -> None:
    """All 21 kinds in all 9 states: led by the table, or refused and nothing changed."""
    run = attrs.evolve(run, state=state)
    before = copy.deepcopy(run)
    for event in batch:
        then = leads_to(run, event)
        if may_follow(state, then):
            after = evolve(run, event)
            assert after.state is then
            changed = {name for name, old in members(run).items() if members(after)[name] != old}
            assert changed <= CHANGES.get(type(event), {"state"})
        else:
            with pytest.raises(IllegalTransition):
                evolve(run, event)
    assert run == before


@settings(max_examples=examples(25))
@given(run=t.runs(), batch=one_of_each, end=t.outcomes())
def test_i5_nothing_follows_the_end(run: Run, batch: tuple[e.Event, ...], end: e.Outcome) -> None:
    ended = run if run.state.terminal else evolve(run, e.RunFinished(end))
    for event in batch:
        with pytest.raises(IllegalTransition):
            evolve(ended, event)


@given(t.events(*ACTIVITY[1:], e.Diagnosed, e.GapFound, e.RateLimited))
def test_an_event_that_changes_nothing_gives_the_same_run_back(event: e.Event) -> None:
    """The journal then need not write the row again."""
    running = make_run(state=S.RUNNING)
    assert evolve(running, event) is running


@given(st.sampled_from([e.StateChanged(S.RUNNING, "retrying"), e.RunStarted(17)]))
def test_a_state_said_again_gives_the_same_run_back(event: e.Event) -> None:
    running = make_run(state=S.RUNNING)
    assert evolve(running, event) is running


@pytest.mark.parametrize("end", t.TERMINAL)
def test_a_state_change_is_never_an_end(end: S) -> None:
    with pytest.raises(IllegalTransition, match="RunFinished"):
        evolve(make_run(state=S.RUNNING), e.StateChanged(end))


def test_a_run_waits_until_its_last_approval_is_resolved() -> None:
    run = make_run(state=S.RUNNING)
    for name in ("a", "b", "a"):
        run = evolve(run, e.ApprovalRequested(name, "may I?"))
    assert run.approvals == ("a", "b")
    run = evolve(run, e.ApprovalResolved("a", e.Decision.DENY))
    assert (run.state, run.approvals) == (S.WAITING, ("b",))
    run = evolve(run, e.ApprovalResolved("b", e.Decision.DENY))
    assert (run.state, run.approvals) == (S.RUNNING, ())


@pytest.mark.limit("core/run.MAX_APPROVALS")
def test_i9_a_run_waits_for_so_many_approvals_and_no_more() -> None:
    run = make_run(state=S.RUNNING)
    for number in range(MAX_APPROVALS):
        run = evolve(run, e.ApprovalRequested(f"a{number}", "may I?"))
    with pytest.raises(IllegalTransition, match="256 approvals"):
        evolve(run, e.ApprovalRequested("one more", "may I?"))
    assert evolve(run, e.ApprovalRequested("a7", "may I, again?")) == run


@given(t.counts(), st.lists(t.counts() | st.integers(0, 20)))
def test_accepted_inputs_never_fall_and_never_pass_those_given(
    given_inputs: int, said: list[int]
) -> None:
    """A worker that confirms what it never got must not make us keep a later input back."""
    run = make_run(state=S.RUNNING, inputs=given_inputs)
    for through in said:
        after = evolve(run, e.InputAccepted(through))
        assert run.inputs_accepted <= after.inputs_accepted <= given_inputs
        run = after
    assert run.inputs_accepted == max([0, *(min(through, given_inputs) for through in said)])


def test_a_run_is_bound_to_the_worker_it_is_assigned_to() -> None:
    run = evolve(make_run(), e.RunAssigned(WorkerId("hosts/a"), Epoch(3)))
    assert (run.state, run.worker, run.epoch) == (S.STARTING, "hosts/a", 3)
    again = evolve(run, e.RunAssigned(WorkerId("hosts/b"), Epoch(1)))
    assert (again.state, again.worker, again.epoch) == (S.STARTING, "hosts/b", 1)


def test_a_worker_names_its_session_and_its_model() -> None:
    opened = evolve(make_run(state=S.STARTING), e.SessionOpened("native-1", "opus"))
    assert (opened.state, opened.native_session, opened.model) == (S.RUNNING, "native-1", "opus")


def test_the_end_closes_every_approval() -> None:
    run = evolve(make_run(state=S.RUNNING), e.ApprovalRequested("a", "may I?"))
    end = e.Outcome(S.FAILED, e.Reason.ERROR)
    ended = evolve(run, e.RunFinished(end))
    assert (ended.state, ended.outcome, ended.approvals) == (S.FAILED, end, ())


# --- decide


@given(t.runs(), t.run_commands(st.just(RunId("gui/run-1"))), st.booleans())
def test_decide_refuses_or_says_what_follows_and_never_changes_the_run(
    run: Run, command: c.RunCommand, bound: bool
) -> None:
    run = attrs.evolve(run, worker=WorkerId("hosts/a") if bound else None)
    before = copy.deepcopy(run)
    try:
        verdict = decide(run, command)
    except Refusal:
        verdict = Verdict(run)
    assert run == before
    after = verdict.run
    for event in verdict.events:
        after = evolve(after, event)
    assert verdict.run.orders == run.orders + verdict.order
    takes_input = isinstance(command, c.SendInput | c.CloseInput) and verdict.order
    assert verdict.run.inputs == run.inputs + takes_input


ENDED = [
    c.SupplyScript(RunId("r"), b""),
    c.SendInput(RunId("r"), b""),
    c.CloseInput(RunId("r")),
    c.SignalRun(RunId("r"), c.Signal.KILL),
    c.ResolveApproval(RunId("r"), "a", e.Decision.DENY),
    c.ResizeTerminal(RunId("r"), 24, 80),
]


@pytest.mark.parametrize("end", t.TERMINAL)
@pytest.mark.parametrize("command", ENDED, ids=lambda command: type(command).__name__)
def test_an_ended_run_takes_no_more_commands(end: S, command: c.RunCommand) -> None:
    with pytest.raises(RunEnded, match=end.value):
        decide(make_run(state=end, approvals=("a",)), command)


# --- starting


@given(t.run_ids(), t.specs(), t.origins(), t.counts())
def test_i6_the_same_request_again_is_the_same_run(
    id: RunId, spec: c.RunSpec, origin: c.Origin, now: int
) -> None:
    first = start(c.StartRun(id, spec, origin), now)
    again = c.StartRun(id, copy.deepcopy(spec), copy.deepcopy(origin))
    assert decide(first.run, again) == Verdict(first.run)
    assert first.run.state is S.QUEUED
    assert not first.order


@settings(max_examples=examples(50))
@given(t.runs(), t.specs(), t.origins())
def test_i6_another_request_under_the_same_id_is_a_conflict(
    run: Run, spec: c.RunSpec, origin: c.Origin
) -> None:
    command = c.StartRun(run.id, spec, origin)
    if same_request(spec, run.spec) and origin == run.origin:
        assert decide(run, command) == Verdict(run)
    else:
        with pytest.raises(Conflict):
            decide(run, command)


LOOK_ALIKE: list[tuple[Any, Any]] = [(1, True), (1, 1.0), (0, False), (0, 0.0)]


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKE)
@pytest.mark.parametrize(
    "spec_of",
    [
        lambda n: c.RunSpec(c.ToolCall("t", {"n": n})),
        lambda n: c.RunSpec(c.Prompt("p", messages=({"n": n},))),
        *(
            lambda n, given=given, member=member: c.RunSpec(given, **{member: {"n": [n]}})
            for given in (c.Prompt("p"), c.ShellCommand(line="true"), c.ToolCall("t"))
            for member in ("metadata", "native")
        ),
    ],
)
def test_i6_numbers_of_another_kind_are_another_request(spec_of: Any, one: Any, other: Any) -> None:
    assert spec_of(one) == spec_of(other), "for Python they are equal"
    assert not same_request(spec_of(one), spec_of(other))
    assert same_request(spec_of(one), spec_of(one))


# --- scripts


def make_script(data: bytes) -> c.Script:
    return c.Script(size=len(data), sha256=hashlib.sha256(data).digest())


@given(st.binary(max_size=60))
def test_a_run_waits_for_its_script_and_is_then_whole(data: bytes) -> None:
    spec = c.RunSpec(c.ShellCommand(script=make_script(data)))
    command = c.StartRun(RunId("r"), spec, c.Origin("gui", "r"))
    first = start(command, now=1)
    assert first.run.awaits_script
    assert first.events == (e.StateChanged(S.QUEUED, "awaiting_script"),)
    given_it = decide(first.run, c.SupplyScript(RunId("r"), data))
    assert not given_it.run.awaits_script
    assert not given_it.order
    assert decide(given_it.run, command) == Verdict(given_it.run), "the upload is no new request"
    with pytest.raises(Conflict, match="does not wait"):
        decide(given_it.run, c.SupplyScript(RunId("r"), data))


@pytest.mark.parametrize("state", [S.STARTING, S.RUNNING, S.WAITING, S.FINISHING])
def test_a_run_that_has_begun_takes_no_script(state: S) -> None:
    spec = c.RunSpec(c.ShellCommand(script=make_script(b"true")), announce=True)
    with pytest.raises(Conflict, match=state.value):
        decide(make_run(spec=spec, state=state), c.SupplyScript(RunId("r"), b"true"))


def test_a_run_says_that_it_waits_where_its_controller_is_to_hear_of_it() -> None:
    waits = (e.StateChanged(S.QUEUED, "queued"),)
    shell = c.ShellCommand(line="true")
    for announce in (True, False):
        spec = c.RunSpec(shell, announce=announce)
        verdict = start(c.StartRun(RunId("r"), spec, c.Origin("gui", "r")), now=1)
        assert verdict.events == (waits if announce else ())
    spec = c.RunSpec(c.ShellCommand(script=make_script(b"true")), announce=True)
    first = start(c.StartRun(RunId("r"), spec, c.Origin("gui", "r")), now=1)
    assert first.events == (e.StateChanged(S.QUEUED, "awaiting_script"),)
    assert decide(first.run, c.SupplyScript(RunId("r"), b"true")).events == waits


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_a_script_that_is_not_the_announced_one_is_refused(data: bytes, came: bytes) -> None:
    spec = c.RunSpec(c.ShellCommand(script=make_script(data)))
    run = start(c.StartRun(RunId("r"), spec, c.Origin("gui", "r")), now=1).run
    if came != data:
        with pytest.raises(InvalidArgument, match="SHA-256"):
            decide(run, c.SupplyScript(RunId("r"), came))


def test_a_script_of_another_size_than_announced_is_refused_whatever_its_digest() -> None:
    script = attrs.evolve(make_script(b"true"), size=5)
    run = make_run(spec=c.RunSpec(c.ShellCommand(script=script)))
    with pytest.raises(InvalidArgument, match="5 bytes"):
        decide(run, c.SupplyScript(run.id, b"true"))


# --- input, signals, cancelling, approvals


def test_inputs_are_numbered_until_they_are_closed() -> None:
    run = make_run(state=S.RUNNING, worker=WorkerId("hosts/a"))
    for command in (c.SendInput(run.id, b"a"), c.SendInput(run.id, b"b"), c.CloseInput(run.id)):
        verdict = decide(run, command)
        assert verdict.order
        run = verdict.run
    assert (run.inputs, run.orders, run.input_closed) == (3, 3, True)
    for command in (c.SendInput(run.id, b"c"), c.CloseInput(run.id)):
        with pytest.raises(InvalidArgument, match="closed"):
            decide(run, command)


@given(t.specs())
def test_only_a_run_that_may_be_talked_to_takes_input(spec: c.RunSpec) -> None:
    run = make_run(state=S.RUNNING, spec=spec)
    if spec.interactive or spec.approvals:
        assert decide(run, c.SendInput(run.id, b"a")).order
    else:
        with pytest.raises(InvalidArgument, match="interactive"):
            decide(run, c.SendInput(run.id, b"a"))


@pytest.mark.parametrize(
    "command", [c.CancelRun(RunId("r")), c.SignalRun(RunId("r"), c.Signal.KILL)]
)
def test_a_run_that_no_worker_has_is_canceled_on_the_spot(command: c.RunCommand) -> None:
    verdict = decide(make_run(), command)
    (finished,) = verdict.events
    assert isinstance(finished, e.RunFinished)
    assert finished.outcome.state is S.CANCELED
    assert not verdict.order
    assert evolve(verdict.run, finished).state is S.CANCELED


@settings(max_examples=examples(30))
@given(t.runs(), t.outcomes())
def test_canceling_a_run_that_ended_changes_no_end(run: Run, end: e.Outcome) -> None:
    ended = run if run.state.terminal else evolve(run, e.RunFinished(end))
    verdict = decide(ended, c.CancelRun(run.id))
    assert (verdict.events, verdict.order) == ((), False)
    assert attrs.evolve(verdict.run, canceling=ended.canceling) == ended


def test_a_worker_is_told_to_cancel_and_the_end_is_its_to_say() -> None:
    run = make_run(state=S.RUNNING, worker=WorkerId("hosts/a"))
    verdict = decide(run, c.CancelRun(run.id))
    assert (verdict.order, verdict.events, verdict.run.canceling) == (True, (), True)
    assert verdict.run.state is S.RUNNING


@given(st.sampled_from(e.Decision), st.none() | t.texts())
def test_an_open_approval_is_resolved_once(decision: e.Decision, value: str | None) -> None:
    run = make_run(state=S.WAITING, worker=WorkerId("hosts/a"), approvals=("a",))
    answer = c.ResolveApproval(run.id, "a", decision, value)
    verdict = decide(run, answer)
    assert verdict.order
    assert verdict.events == (e.ApprovalResolved("a", decision, value),)
    resolved = evolve(verdict.run, verdict.events[0])
    with pytest.raises(ApprovalNotFound, match="none"):
        decide(resolved, answer)


# --- all of it, at random


class Life(RuleBasedStateMachine):
    """One run under random commands and events, and beside it what was seen of it."""

    @initialize(spec=t.specs())
    def begin(self, spec: c.RunSpec) -> None:
        command = c.StartRun(RunId("gui/run-1"), spec, c.Origin("gui", "run-1"))
        self.first = command
        self.run = start(command, now=1).run
        self.ends: list[e.Outcome] = []
        self.states = [S.QUEUED]
        self.orders = 0
        self.awaited: set[str] = set()

    def record(self, event: e.Event) -> None:
        try:
            self.run = evolve(self.run, event)
        except IllegalTransition:
            return
        self.states.append(self.run.state)
        match event:
            case e.RunFinished(outcome=outcome):
                self.ends.append(outcome)
                self.awaited = set()
            case e.ApprovalRequested(approval=approval):
                self.awaited.add(approval)
            case e.ApprovalResolved(approval=approval):
                self.awaited.discard(approval)
            case _:
                pass

    @rule(event=t.events())
    def happens(self, event: e.Event) -> None:
        self.record(event)

    @rule(worker=t.worker_ids(), epoch=t.epochs())
    def is_assigned(self, worker: WorkerId, epoch: Epoch) -> None:
        self.record(e.RunAssigned(worker, epoch))

    @rule(command=t.run_commands(st.just(RunId("gui/run-1"))))
    def is_asked(self, command: c.RunCommand) -> None:
        try:
            verdict = decide(self.run, command)
        except Refusal:
            return
        self.run = verdict.run
        self.orders += verdict.order
        for event in verdict.events:
            self.record(event)

    @precondition(lambda self: bool(self.run.approvals))
    @rule(data=st.data())
    def is_answered(self, data: st.DataObject) -> None:
        approval = data.draw(st.sampled_from(self.run.approvals))
        self.is_asked(c.ResolveApproval(self.run.id, approval, e.Decision.ALLOW_ONCE))

    @rule()
    def is_started_again(self) -> None:
        assert decide(self.run, self.first) == Verdict(self.run)

    @invariant()
    def i5_one_end(self) -> None:
        assert len(self.ends) == self.run.state.terminal
        assert self.run.outcome == (self.ends[0] if self.ends else None)

    @invariant()
    def it_only_moves_on(self) -> None:
        for now, then in zip(self.states, self.states[1:], strict=False):
            assert now is then or may_follow(now, then)
        assert self.states[-1] is self.run.state

    @invariant()
    def its_counters_agree_with_what_was_seen(self) -> None:
        assert self.run.orders == self.orders
        assert 0 <= self.run.inputs_accepted <= self.run.inputs <= self.run.orders
        assert set(self.run.approvals) == self.awaited


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=examples(40), stateful_step_count=30)


def test_a_run_is_stamped_once_with_each_time() -> None:
    run = Run(RunId("r"), c.RunSpec(c.Prompt("x")), c.Origin("gui", "r"), created=1)
    assert stamped(run, 2, heard=False) == run
    heard = stamped(attrs.evolve(run, state=S.RUNNING), 3, heard=True)
    assert (heard.accepted, heard.started, heard.ended) == (True, 3, 0)
    over = stamped(attrs.evolve(heard, state=S.LOST), 4, heard=False)
    assert (over.accepted, over.started, over.ended) == (True, 3, 4)
    assert stamped(over, 5, heard=True) == over
