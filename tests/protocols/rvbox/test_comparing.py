"""Steps 5 to 8 of a session: what a server and its client make of what each knows."""

import attrs
import pytest

from fleetgate.core.answers import Accepted, Admission, Held
from fleetgate.core.commands import (
    CancelRun,
    CloseInput,
    DescribeRun,
    Order,
    Origin,
    RunSpec,
    SendInput,
    ShellCommand,
)
from fleetgate.core.errors import RunNotFound
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState, StateChanged
from fleetgate.core.ids import Epoch, OrderNumber, RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import (
    Annotate,
    Close,
    Record,
    ReportCapacity,
    Submit,
    WorkerReady,
)
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import DIGEST
from fleetgate.protocols.rvbox.settings import ServerSettings
from fleetgate.protocols.rvbox.testing import (
    OTHER,
    SESSION,
    UUID,
    Talk,
    accepted_run,
    admit,
    greeted_server,
    make_hello,
    make_run,
    open_link,
    start_of,
    talk_to_server,
)
from fleetgate.protocols.rvbox.translate import to_dispatch
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.protocols.testing import SECOND, START, slot

ACCEPTED = StateChanged(RunState.STARTING, "accepted")


def state_of(run: Run, **changes: object) -> w.ReconcileCommandState:
    dispatch = to_dispatch(run.id, run.spec, run.created)
    state = w.ReconcileCommandState(
        dispatch.issue_uuid,
        Lifecycle.RUNNING,
        run.native_seq,
        1,
        False,
        dispatch.immutable_request_sha256,
    )
    return attrs.evolve(state, **changes)


def target_of(run: Run) -> w.ReconcileTarget:
    digest = to_dispatch(run.id, run.spec, run.created).immutable_request_sha256
    return w.ReconcileTarget(state_of(run).issue_uuid, run.native_seq, 1, digest)


def dispatch_of(run: Run) -> w.CommandDispatch:
    dispatch = to_dispatch(run.id, run.spec, run.created)
    return attrs.evolve(dispatch, command_revision=1, target_session_generation=7)


def note_of(run: Run) -> Annotate:
    return Annotate(run.id, DIGEST, target_of(run).immutable_request_sha256.hex())


# --- reconcile


def reconciled(talk: Talk, held: list[Held], *states: w.ReconcileCommandState) -> Talk:
    said = admit(open_link(talk), held)
    assert said[1] == w.ReconcileRequest(tuple(target_of(one.run) for one in held))
    talk.put(w.ReconcileSnapshot(states))
    return talk


def finished(state: RunState, reason: Reason, message: str) -> RunFinished:
    return RunFinished(Outcome(state, reason, message))


def test_what_both_know_goes_on_and_counts_against_the_room() -> None:
    run = make_run(accepted=True, native_seq=4, state=RunState.RUNNING)
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())], state_of(run, last_client_event_seq=9))
        assert talk.steps() == [w.ReconcileResult(), WorkerReady(4)]


def test_a_lost_run_is_journaled_before_the_result_is_sent() -> None:
    run = make_run(accepted=True, native_seq=4, state=RunState.RUNNING)
    lost = finished(RunState.LOST, Reason.LOST, "its host does not know it any more")
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())])
        talk.expect(Record(run.id, (lost,)))
        talk.committed(OTHER, 4)
        talk.committed(run.id, 4)
        assert talk.steps() == [w.ReconcileResult(), WorkerReady(5)]


def test_a_run_that_was_never_accepted_is_dispatched_again_behind_the_result() -> None:
    run = make_run()
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())])
        assert talk.steps() == [
            w.ReconcileResult(),
            note_of(run),
            dispatch_of(run),
            WorkerReady(4),
        ]


def test_a_run_that_was_never_accepted_and_has_expired_ends_failed() -> None:
    run = make_run(spec=RunSpec(ShellCommand(line="ls"), expires=START))
    expired = finished(
        RunState.FAILED, Reason.EXPIRED, "its queue expiry passed before its host took it"
    )
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())])
        talk.expect(Record(run.id, (expired,)))
        talk.committed(run.id, 0)
        assert talk.steps() == [w.ReconcileResult(), WorkerReady(5)]


def test_a_run_that_was_canceled_before_it_was_accepted_is_canceled() -> None:
    run = make_run(canceling=True)
    cancel = Order(run.id, OrderNumber(1), CancelRun(run.id))
    canceled = finished(RunState.CANCELED, Reason.CANCELED, "canceled before its host took it")
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, (cancel,))])
        talk.expect(Record(run.id, (canceled,)))
        talk.committed(run.id, 0)
        assert talk.steps() == [w.ReconcileResult(), WorkerReady(5)]


def test_a_tombstone_is_lost_even_where_it_was_never_accepted() -> None:
    run = make_run()
    lost = finished(RunState.LOST, Reason.LOST, "its host finished it, and the events are gone")
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())], state_of(run, tombstoned=True))
        talk.expect(Record(run.id, (lost,)))
        talk.committed(run.id, 0)
        talk.take()


def test_a_client_that_retains_what_it_never_confirmed_has_accepted_it() -> None:
    run = make_run()
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())], state_of(run, lifecycle=Lifecycle.QUEUED))
        talk.expect(Record(run.id, (ACCEPTED,)))
        talk.committed(run.id, 0)
        assert talk.steps() == [w.ReconcileResult(), WorkerReady(4)]


def test_another_request_under_our_uuid_is_terminated() -> None:
    run = make_run()
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())], state_of(run, immutable_request_sha256=b"x" * 32))
        result, _, again, _ = talk.steps()
        assert result == w.ReconcileResult((UUID,))
        assert again == dispatch_of(run)


def test_a_target_beyond_the_clients_last_event_is_lost_and_terminated() -> None:
    run = make_run(accepted=True, native_seq=4, state=RunState.RUNNING)
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())], state_of(run, last_client_event_seq=3))
        (record,) = talk.steps()
        assert isinstance(record, Record)
        talk.committed(run.id, 4)
        assert talk.steps()[0] == w.ReconcileResult((UUID,))


def test_what_only_the_client_knows_is_terminated() -> None:
    stranger = state_of(make_run(OTHER))
    with talk_to_server() as talk:
        reconciled(talk, [], stranger)
        assert talk.steps() == [w.ReconcileResult((OTHER,)), WorkerReady(5)]


def looked_for(talk: Talk, uuid: str) -> object:
    """Nobody started it under that name; what the question for the run itself is answered by."""
    operators, key = slot(), slot()
    talk.expect(Submit(DescribeRun(RunId(f"admin/{uuid}")), operators))
    talk.reply(operators, RunNotFound("no")).expect(Submit(DescribeRun(RunId(uuid)), key))
    return key


NOTES = {DIGEST: state_of(make_run(OTHER)).immutable_request_sha256.hex()}
"""What the journal keeps of a run whose request went out."""


@pytest.mark.parametrize(
    ("native_seq", "discarded"),
    [(9, True), (8, False)],
)
def test_an_operators_run_that_ended_there_is_found_by_its_name(
    native_seq: int, discarded: bool
) -> None:
    origin = Origin("admin", OTHER)
    known = make_run(
        f"admin/{OTHER}",
        origin=origin,
        native_seq=native_seq,
        state=RunState.SUCCEEDED,
        notes=NOTES,
    )
    ended = state_of(make_run(OTHER), lifecycle=Lifecycle.EXITED, last_client_event_seq=9)
    with talk_to_server() as talk:
        key = slot()
        reconciled(talk, [], ended).expect(Submit(DescribeRun(known.id), key))
        talk.reply(key, Accepted(known, known))
        terminate, discard = ((), (OTHER,)) if discarded else ((OTHER,), ())
        assert talk.steps()[0] == w.ReconcileResult(terminate, discard)


def test_the_time_until_a_canceled_command_is_killed_runs_on_over_links() -> None:
    run = make_run(accepted=True, native_seq=4, state=RunState.RUNNING, canceling=True)
    cancel = Order(run.id, OrderNumber(1), CancelRun(run.id), created=START - 4 * SECOND)
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, (cancel,))], state_of(run))
        assert talk.steps()[1] == w.SignalCommand(UUID, 1, w.SignalKind.TERMINATE)
        talk.tick()
        assert talk.steps() == [w.SignalCommand(UUID, 1, w.SignalKind.KILL)]
        assert talk.now == START + 6 * SECOND


@pytest.mark.parametrize(
    ("native_seq", "state", "discarded"),
    [(9, RunState.SUCCEEDED, True), (8, RunState.LOST, False), (9, RunState.RUNNING, False)],
)
def test_what_ended_there_is_discarded_if_the_journal_has_all_of_it(
    native_seq: int, state: RunState, discarded: bool
) -> None:
    known = make_run(OTHER, native_seq=native_seq, state=state, notes=NOTES)
    ended = state_of(known, lifecycle=Lifecycle.EXITED, last_client_event_seq=9)
    with talk_to_server() as talk:
        key = looked_for(reconciled(talk, [], ended), OTHER)
        talk.reply(key, Accepted(known, known))
        terminate, discard = ((), (OTHER,)) if discarded else ((OTHER,), ())
        assert talk.steps()[0] == w.ReconcileResult(terminate, discard)


@pytest.mark.parametrize("notes", [{}, {DIGEST: "ab" * 32}])
def test_what_ended_there_and_was_another_request_here_is_terminated(
    notes: dict[str, str],
) -> None:
    known = make_run(OTHER, native_seq=9, state=RunState.SUCCEEDED, notes=notes)
    ended = state_of(known, lifecycle=Lifecycle.EXITED, last_client_event_seq=9)
    with talk_to_server() as talk:
        key = looked_for(reconciled(talk, [], ended), OTHER)
        talk.reply(key, Accepted(known, known))
        assert talk.steps()[0] == w.ReconcileResult((OTHER,), ())


def test_what_ended_there_and_is_unknown_here_is_terminated() -> None:
    ended = state_of(make_run(OTHER), lifecycle=Lifecycle.EXITED)
    with talk_to_server() as talk:
        key = looked_for(reconciled(talk, [], ended), OTHER)
        talk.reply(key, RunNotFound("no"))
        assert talk.steps()[0] == w.ReconcileResult((OTHER,))


def test_only_so_many_ended_commands_are_looked_up() -> None:
    ended = [state_of(make_run(id), lifecycle=Lifecycle.EXITED) for id in (UUID, OTHER)]
    with talk_to_server(ServerSettings(lookups=1)) as talk:
        key = looked_for(reconciled(talk, [], *ended), UUID)
        talk.reply(key, RunNotFound("no"))
        assert talk.steps()[0] == w.ReconcileResult((OTHER, UUID))


def test_a_snapshot_that_names_a_command_twice_is_a_violation() -> None:
    run = make_run()
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())], state_of(run), state_of(run))
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)


def test_a_held_run_that_no_host_can_be_given_ends() -> None:
    run = make_run(spec=RunSpec(ShellCommand(line="x" * 200_000)))
    with talk_to_server() as talk:
        open_link(talk).put(make_hello())
        (announced,) = talk.take()
        talk.reply(announced.reply_to, Admission(Epoch(7), (Held(run, ()),)))  # type: ignore[union-attr]
        talk.session, talk.generation = SESSION, 7
        record = talk.steps()[1]
        assert isinstance(record, Record)
        assert record.events[0].outcome.reason is Reason.REFUSED  # type: ignore[union-attr]


def test_writes_above_the_last_acknowledged_one_are_sent_again_behind_the_result() -> None:
    spec = RunSpec(ShellCommand(line="cat"), interactive=True)
    run = make_run(
        spec=spec, accepted=True, native_seq=2, state=RunState.RUNNING, inputs=3, inputs_accepted=1
    )
    orders = (
        Order(run.id, OrderNumber(2), SendInput(run.id, b"b"), 2),
        Order(run.id, OrderNumber(3), CancelRun(run.id)),
        Order(run.id, OrderNumber(4), CloseInput(run.id), 3),
    )
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, orders)], state_of(run))
        assert talk.steps() == [
            w.ReconcileResult(),
            w.StdinWrite(UUID, 2, b"b"),
            w.SignalCommand(UUID, 1, w.SignalKind.TERMINATE),
            w.CloseStdin(UUID, 3),
            WorkerReady(4),
        ]


def test_a_signal_carries_the_revision_that_the_client_has() -> None:
    run = make_run(accepted=True, state=RunState.RUNNING)
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())], state_of(run, command_revision=5)).take()
        talk.perform(Order(run.id, OrderNumber(1), CancelRun(run.id)))
        assert talk.steps() == [w.SignalCommand(UUID, 5, w.SignalKind.TERMINATE)]


# --- reconcile in mid-session


def test_30_seconds_without_an_answer_bring_about_a_reconcile() -> None:
    run = make_run()
    with talk_to_server() as talk:
        greeted_server(talk).perform(start_of(run))
        assert talk.steps() == [note_of(run), dispatch_of(run)]
        talk.tick()
        assert talk.now == START + 30 * SECOND
        assert talk.steps() == [w.ReconcileRequest((target_of(run),))]
        talk.put(w.ReconcileSnapshot())
        assert talk.steps() == [w.ReconcileResult(), dispatch_of(run), ReportCapacity(4)]
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert talk.steps() == [Record(run.id, (ACCEPTED,)), ReportCapacity(4)]


def test_a_client_that_has_the_unanswered_command_goes_on_with_it() -> None:
    run = make_run()
    with talk_to_server() as talk:
        greeted_server(talk).perform(start_of(run)).take()
        talk.tick().take()
        talk.put(w.ReconcileSnapshot((state_of(run),)))
        talk.expect(Record(run.id, (ACCEPTED,)))
        talk.committed(run.id, 0)
        assert talk.steps() == [w.ReconcileResult(), ReportCapacity(4)]


def test_while_the_two_sides_compare_orders_wait() -> None:
    first, second = make_run(), make_run(OTHER)
    with talk_to_server() as talk:
        greeted_server(talk).perform(start_of(first)).take()
        talk.tick().take()
        talk.perform(start_of(second))
        assert not talk.take()
        talk.put(w.ReconcileSnapshot())
        assert talk.steps() == [
            w.ReconcileResult(),
            dispatch_of(first),
            note_of(second),
            dispatch_of(second),
            ReportCapacity(3),
        ]


@pytest.mark.parametrize(
    "settings", [ServerSettings(held_back_orders=1), ServerSettings(held_back_size=300)]
)
def test_i9_more_waiting_orders_than_allowed_end_the_link(settings: ServerSettings) -> None:
    with talk_to_server(settings) as talk:
        run = accepted_run(talk)
        talk.put(w.CommandEvent(UUID, 1, 2)).take()
        order = Order(run.id, OrderNumber(1), SendInput(run.id, b"x" * 30), 1)
        talk.perform(order)
        assert not talk.take()
        talk.perform(attrs.evolve(order, input=2))
        (close,) = talk.take()
        assert isinstance(close, Close)
        assert (close.code, close.retry) == (1013, True)


def test_events_on_their_way_are_taken_before_the_snapshot_and_none_behind_it() -> None:
    with talk_to_server() as talk:
        run = accepted_run(talk)
        talk.put(w.CommandEvent(UUID, 1, 3)).take()
        event = w.LifecycleChanged(Lifecycle.QUEUED)
        talk.put(w.CommandEvent(UUID, 1, 1, event=event))
        talk.expect(Record(run.id, (StateChanged(RunState.STARTING, "queued"),), 1))
        lost = state_of(run, lifecycle=Lifecycle.QUEUED, last_client_event_seq=2)
        talk.put(w.ReconcileSnapshot((lost,)))
        assert talk.steps() == [w.ReconcileResult(), ReportCapacity(4)]


def test_between_snapshot_and_result_a_client_says_nothing() -> None:
    run = make_run(accepted=True, native_seq=4)
    with talk_to_server() as talk:
        reconciled(talk, [Held(run, ())]).take()
        talk.put(w.ClientCapacity(0, 0, 1, 1))
        talk.ends(Code.PROTOCOL_VIOLATION, 1002)
