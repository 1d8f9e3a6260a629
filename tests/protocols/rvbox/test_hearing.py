import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core.commands import Order, RunSpec, SendInput, ShellCommand, StartRun
from fleetgate.core.events import (
    Diagnosed,
    InputAccepted,
    Outcome,
    OutputProduced,
    Reason,
    RunFinished,
    RunStarted,
    RunState,
    StateChanged,
    Stream,
)
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.run import Run
from fleetgate.protocols.api import Close, Record, Report, ReportCapacity
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.hearing import ACCEPTED
from fleetgate.protocols.rvbox.settings import ServerSettings
from fleetgate.protocols.rvbox.testing import (
    OTHER,
    UUID,
    Talk,
    greeted_server,
    make_run,
    talk_to_server,
)
from fleetgate.protocols.rvbox.translate import to_dispatch
from fleetgate.protocols.rvbox.wire import CommandLifecycle as Lifecycle
from fleetgate.protocols.rvbox.wire import ControlErrorCode as Code
from fleetgate.protocols.testing import START, slot

RUN = RunId(UUID)
EXIT = w.CommandExit(Lifecycle.EXITED, 0)
SUCCEEDED = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))


def asked(talk: Talk) -> Run:
    run = make_run()
    start = Order(run.id, OrderNumber(0), StartRun(run.id, run.spec, run.origin), created=START)
    greeted_server(talk).perform(start).take()
    return run


def taken(talk: Talk) -> Run:
    run = asked(talk)
    talk.put(w.CommandAccepted(UUID, 1, True)).take()
    return run


def event(seq: int, happening: w.Happening | None = None) -> w.CommandEvent:
    return w.CommandEvent(UUID, 1, seq, START, happening or w.OutputChunk(1, b"x", seq - 1))


def error_of(talk: Talk, code: Code, uuid: str = UUID) -> None:
    (said,) = (p for p in talk.said() if isinstance(p, w.AgentError))
    assert not said.close_session
    assert said.error.code == code
    assert said.error.message.startswith(f"{uuid}: ")


# --- answers


def test_an_acceptance_is_recorded_and_leaves_the_room_as_it_was() -> None:
    with talk_to_server() as talk:
        asked(talk)
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert talk.steps() == [Record(RUN, (ACCEPTED,)), ReportCapacity(4)]
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert talk.steps() == []


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (Code.QUEUE_EXPIRED, Reason.EXPIRED),
        (Code.ALREADY_FINISHED, Reason.LOST),
        (Code.CONFLICT, Reason.REFUSED),
        (Code.STALE_SESSION, Reason.REFUSED),
        (Code.UNSUPPORTED_SHELL, Reason.REFUSED),
        (99, Reason.REFUSED),
    ],
)
def test_a_rejection_for_good_ends_the_run(code: int, reason: Reason) -> None:
    with talk_to_server() as talk:
        asked(talk)
        talk.put(w.CommandAccepted(UUID, 1, False, w.ControlError(code, "why")))
        record, capacity = talk.steps()
        assert isinstance(record, Record)
        (end,) = record.events
        assert isinstance(end, RunFinished)
        assert end.outcome.reason is reason
        assert capacity == ReportCapacity(5)
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert talk.steps() == []


def test_a_rejection_without_a_reason_ends_the_run() -> None:
    with talk_to_server() as talk:
        asked(talk)
        talk.put(w.CommandAccepted(UUID, 1, False))
        assert isinstance(talk.steps()[0], Record)


def test_an_answer_about_an_unknown_command_is_not_found() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).put(w.CommandAccepted(OTHER, 1, True))
        error_of(talk, Code.NOT_FOUND, OTHER)


# --- events


def test_each_event_is_one_record_under_the_clients_number() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(event(1, w.LifecycleChanged(Lifecycle.QUEUED)))
        talk.expect(Record(RUN, (StateChanged(RunState.STARTING, "queued"),), 1))
        talk.put(event(2, w.LifecycleChanged(Lifecycle.RUNNING, 42)))
        talk.expect(Record(RUN, (RunStarted(42),), 2))
        talk.put(event(3, w.OutputChunk(1, b"hi", 0)))
        talk.expect(Record(RUN, (OutputProduced(Stream.STDOUT, b"hi", 0),), 3))
        talk.put(event(4, EXIT)).expect(Record(RUN, (SUCCEEDED,), 4))


def test_an_event_implies_acceptance() -> None:
    with talk_to_server() as talk:
        asked(talk)
        talk.put(event(1))
        output = OutputProduced(Stream.STDOUT, b"x", 0)
        assert talk.steps() == [Record(RUN, (output,), 1), ReportCapacity(4)]
        talk.put(w.CommandAccepted(UUID, 1, True))
        assert talk.steps() == []


def test_i4_a_repeated_event_is_dropped_and_acknowledged_again() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(event(1)).take()
        talk.committed(UUID, 1).take()
        talk.tick().expect(talk.sent(w.EventAck(UUID, 1)))
        talk.put(event(1))
        assert talk.steps() == []
        talk.tick().expect(talk.sent(w.EventAck(UUID, 1)))


def test_a_gap_is_not_recorded_and_brings_about_a_reconcile() -> None:
    with talk_to_server() as talk:
        run = taken(talk)
        talk.put(event(1)).take()
        talk.committed(UUID, 1).take()
        talk.put(event(3))
        error, request = talk.steps()
        assert isinstance(error, w.AgentError)
        assert error.error.code == Code.OUT_OF_ORDER
        digest = to_dispatch(run.id, run.spec, run.created).immutable_request_sha256
        assert request == w.ReconcileRequest((w.ReconcileTarget(UUID, 1, 1, digest),))
        talk.put(event(4))
        assert talk.steps() == []
        state = w.ReconcileCommandState(UUID, Lifecycle.RUNNING, 4, 1, False, digest)
        talk.put(w.ReconcileSnapshot((state,)))
        assert talk.steps() == [w.ReconcileResult(), ReportCapacity(4)]
        talk.put(event(2))
        assert isinstance(talk.steps()[0], Record)


def test_a_client_that_always_leaves_out_an_event_is_cut_off() -> None:
    with talk_to_server() as talk:
        run = taken(talk)
        digest = to_dispatch(run.id, run.spec, run.created).immutable_request_sha256
        state = w.ReconcileCommandState(UUID, Lifecycle.RUNNING, 9, 1, False, digest)
        for _ in range(3):
            talk.put(event(2)).take()
            talk.put(w.ReconcileSnapshot((state,))).take()
        error, close = slot(), slot()
        talk.put(event(2)).fails(error, close, match="left out")
        assert close.value.code == 1002


def test_i5_nothing_is_recorded_behind_the_exit() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(event(1, EXIT)).take()
        for seq in (2, 5):
            talk.put(event(seq))
            assert talk.steps() == []
        talk.committed(UUID, 1).expect(talk.sent(w.EventAck(UUID, 1)))
        talk.put(event(2))
        assert talk.steps() == []


def test_an_event_of_an_unknown_command_is_not_found() -> None:
    with talk_to_server() as talk:
        greeted_server(talk).put(event(1))
        error_of(talk, Code.NOT_FOUND)


def test_an_event_of_no_known_kind_keeps_its_number() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(w.CommandEvent(UUID, 1, 1))
        record = talk.steps()[0]
        assert isinstance(record, Record)
        assert isinstance(record.events[0], Diagnosed)
        assert record.native_seq == 1


def test_an_ack_of_input_beyond_what_was_given_is_diagnosed() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(event(1, w.StdinAck(1)))
        (record,) = talk.steps()
        assert isinstance(record, Record)
        assert not isinstance(record.events[0], InputAccepted)


# --- acknowledgement


def test_i3_events_are_acknowledged_once_they_are_durable() -> None:
    with talk_to_server() as talk:
        taken(talk)
        for seq in range(1, 6):
            talk.put(event(seq)).take()
        talk.committed(UUID, 3).take()
        due = talk.now + 100_000_000
        talk.tick().expect(talk.sent(w.EventAck(UUID, 3)))
        assert talk.now == due


def test_64_events_are_acknowledged_at_once() -> None:
    with talk_to_server() as talk:
        taken(talk)
        for seq in range(1, 65):
            talk.put(event(seq)).take()
        talk.committed(UUID, 63).take()
        talk.committed(UUID, 64).expect(talk.sent(w.EventAck(UUID, 64)))


def test_an_exit_is_acknowledged_at_once_and_the_command_forgotten() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(event(1)).take()
        talk.put(event(2, EXIT)).take()
        talk.committed(UUID, 1).take()
        talk.committed(UUID, 2).expect(talk.sent(w.EventAck(UUID, 2)))
        talk.committed(UUID, 2)
        assert talk.steps() == []


@given(st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=40))
def test_i1_i4_whatever_order_events_come_in_each_is_recorded_once_in_order(
    arrivals: list[tuple[int, bool]],
) -> None:
    with talk_to_server() as talk:
        run = taken(talk)
        digest = to_dispatch(run.id, run.spec, run.created).immutable_request_sha256
        recorded: list[int] = []
        gaps = 0
        for seq, commit in arrivals:
            gaps = gaps + 1 if seq > len(recorded) + 1 else 0 if seq == len(recorded) + 1 else gaps
            if gaps > 3:
                return
            talk.put(event(seq))
            steps = talk.steps()
            recorded += [s.native_seq for s in steps if isinstance(s, Record) and s.native_seq]
            if any(isinstance(step, w.ReconcileRequest) for step in steps):
                state = w.ReconcileCommandState(UUID, Lifecycle.RUNNING, 12, 1, False, digest)
                talk.put(w.ReconcileSnapshot((state,))).take()
            if commit:
                talk.committed(UUID, len(recorded)).take()
        assert recorded == list(range(1, len(recorded) + 1))


# --- errors


def test_a_clients_error_about_a_command_is_recorded_with_it() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(w.AgentError(w.ControlError(Code.NOT_FOUND, f"{UUID}: no such command")))
        talk.expect(Record(RUN, (Diagnosed("no such command", "not_found"),)))


@pytest.mark.parametrize("message", ["", "no", f"{OTHER}: no", "x" * 10_000])
def test_any_other_error_is_reported_and_the_session_goes_on(message: str) -> None:
    with talk_to_server() as talk:
        greeted_server(talk).put(w.AgentError(w.ControlError(Code.INTERNAL, message)))
        (report,) = talk.take()
        assert isinstance(report, Report)
        assert report.what == "rvbox_client_error"
        assert len(report.detail) < 5_000


def test_an_error_that_crossed_with_the_end_of_its_command_is_no_matter() -> None:
    with talk_to_server() as talk:
        taken(talk)
        talk.put(event(1, EXIT)).take()
        talk.committed(UUID, 1).take()
        talk.put(w.AgentError(w.ControlError(Code.NOT_FOUND, f"{UUID}: not known")))
        assert not talk.take()


def test_a_client_that_closes_the_session_is_let_go() -> None:
    with talk_to_server() as talk:
        greeted_server(talk)
        talk.put(w.AgentError(w.ControlError(Code.STALE_SESSION, "other"), close_session=True))
        report, close = talk.take()
        assert isinstance(report, Report)
        assert isinstance(close, Close)
        assert close.code == 1000


def test_a_gap_in_the_input_brings_about_a_reconcile_but_not_time_and_again() -> None:
    run = make_run(spec=RunSpec(ShellCommand(line="cat"), interactive=True))
    start = Order(run.id, OrderNumber(0), StartRun(run.id, run.spec, run.origin), created=START)
    gap = w.AgentError(w.ControlError(Code.OUT_OF_ORDER, f"{UUID}: expected write 1"))
    digest = to_dispatch(run.id, run.spec, run.created).immutable_request_sha256
    state = w.ReconcileCommandState(UUID, Lifecycle.QUEUED, 0, 1, False, digest)
    with talk_to_server(ServerSettings(reconcile_pause=5)) as talk:
        greeted_server(talk).perform(start).take()
        talk.put(w.CommandAccepted(UUID, 1, True)).take()
        talk.perform(Order(run.id, OrderNumber(1), SendInput(run.id, b"x"), 1)).take()
        talk.put(gap)
        assert any(isinstance(step, w.ReconcileRequest) for step in talk.steps())
        talk.put(w.ReconcileSnapshot((state,)))
        assert w.StdinWrite(UUID, 1, b"x") in talk.steps()
        talk.put(gap)
        assert not any(isinstance(step, w.ReconcileRequest) for step in talk.steps())
        talk.tick().take()
        talk.put(gap)
        assert any(isinstance(step, w.ReconcileRequest) for step in talk.steps())
