"""The client's side of a conversation: agreeing, taking up runs, orders, events, acks."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core import events as e
from fleetgate.core.answers import Admission, Held
from fleetgate.core.commands import Order, Signal
from fleetgate.core.events import GapFound, Outcome, Reason, RunFinished, RunState
from fleetgate.core.ids import Epoch, OrderNumber, RunId
from fleetgate.core.run import Run
from fleetgate.core.worker import AccountReport, ProviderReport
from fleetgate.protocols.agency import attaching, endings, wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.encode import encode_event
from fleetgate.protocols.agency.testing import (
    EVENTS,
    REQUEST,
    admit,
    make_run,
    no,
    play_client,
    say,
    welcome,
    yes,
)
from fleetgate.protocols.agency.translate import from_spec, to_spec
from fleetgate.protocols.agency.translate_events import to_event, to_outcome
from fleetgate.protocols.api import (
    Annotate,
    Close,
    Opening,
    Record,
    Respond,
    Settle,
    Wake,
    WorkerReady,
)
from fleetgate.protocols.bulk import BulkConnection
from fleetgate.protocols.testing import SECOND, Playbook, Sent, outcome, slot

Code = wire.ErrorCode
ID = RunId("gui/run-1")
ACCEPTED = e.StateChanged(RunState.STARTING, "accepted")
EXPIRED = "requested replay sequence {} is older than retained sequence {}"
SPEC = to_spec(REQUEST)


def order(number: int, command: c.RunCommand, input: int = 0) -> Order:
    return Order(ID, OrderNumber(number), command, input)


def start_message(run: str = ID, request: wire.RunRequest = REQUEST) -> wire.StartRun:
    return wire.StartRun(run, request, f"{run}:start")


START = order(0, c.StartRun(ID, SPEC, c.Origin("gui", "run-1")))


def snapshot(latest: int = 0, acknowledged: int = 0, **members: Any) -> wire.RunSnapshot:
    whole = wire.RunSnapshot(ID, wire.RunState.RUNNING, "claude", "", latest, acknowledged, ("/w",))
    return attrs.evolve(whole, **members)


def attached(id: int, run: wire.RunSnapshot | None = None) -> wire.Response:
    return wire.Response(id, wire.RunAnswer(run if run is not None else snapshot()))


def noted(after: int, tries: int = 1) -> Annotate:
    """What is kept with a run that is attached to and has events to come."""
    return Annotate(ID, "agency", {"attach": {"after": after, "tries": tries}})


def event(sequence: int, what: w.RunEvent | w.UnknownEvent, run: str = ID) -> bytes:
    """Unknown events are never sent by us, so this one is made by hand."""
    if isinstance(what, w.UnknownEvent):
        return (
            f'\0{{"kind":"event","run_id":"{run}","sequence":{sequence},'
            f'"event":{{"type":"{what.type}","payload":null}}}}'
        ).encode()
    return encode_event(run, sequence, what)


def started(play: Playbook) -> Playbook:
    """A run is started and attached to: requests 3 and 4; the next one is 5."""
    play.expect(WorkerReady())
    play.perform(START).take()
    play.receive(yes(3)).expect(Record(ID, (ACCEPTED,)))
    play.receive(attached(4)).expect()
    return play


# --- agreeing


def test_hello_list_announce() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())


def test_an_older_daemon_is_spoken_to_in_its_own_minor() -> None:
    with admit(play_client(), minor=1) as play:
        play.expect(WorkerReady())


def test_a_newer_daemon_s_capabilities_are_no_trouble() -> None:
    with admit(play_client(), minor=4) as play:
        play.expect(WorkerReady())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (wire.HelloAnswer("s", wire.ProtocolVersion(1, 0), ()), "speaks major 1, not 0"),
        (wire.Error(Code.INCOMPATIBLE_VERSION, "no"), "refused hello: no"),
        (wire.Error(Code.INTERNAL, "no"), "refused hello: no"),
    ],
)
def test_a_daemon_that_cannot_be_agreed_with_is_dialled_again(
    answer: wire.ServerResponse, text: str
) -> None:
    with play_client() as play:
        play.opened().take()
        reason = slot()
        play.receive(wire.Response(1, answer)).expect(Close(1000, reason, retry=True))
        assert text in reason.value


@pytest.mark.parametrize("answer", [wire.Accepted(), wire.Runs(())])
def test_hello_answered_by_something_else(answer: wire.ServerResponse) -> None:
    with play_client() as play:
        play.opened().take()
        play.receive(wire.Response(1, answer)).fails(Close(None, slot()), match="answered Hello")


def test_a_daemon_that_lists_no_runs() -> None:
    with play_client() as play:
        play.opened().take()
        play.receive(welcome()).take()
        text = "the daemon lists no runs: broken"
        play.receive(no(2, Code.INTERNAL, "broken")).expect(Close(1000, text))


def test_a_daemon_that_answers_nothing_is_given_up() -> None:
    with play_client(hello_timeout=3.0) as play:
        play.opened().expect(Sent(slot()), Wake(play.now + 3 * SECOND))
        play.tick().expect(Close(None, "the daemon answered nothing for 3 s"))


def test_an_event_before_hello_is_answered() -> None:
    with play_client() as play:
        play.opened().take()
        play.receive(event(1, w.Text("x"))).fails(Close(None, slot()), match="before hello")


@pytest.mark.parametrize(
    "answer", [errors.InstanceConflict("taken"), errors.Unavailable("not now")]
)
def test_a_worker_that_is_not_admitted(answer: errors.Refusal) -> None:
    with play_client() as play:
        play.opened().take()
        play.receive(welcome()).take()
        play.receive(wire.Response(2, wire.Runs(()))).take()
        play.reply(None, answer).expect(Close(1000, answer.message))


def test_case_a7_pings_are_passed_over_and_a_close_ends_the_link() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        for frame in (b"\x02", b"\x03abc", b"\x01\xff"):
            play.receive(frame).expect()
        play.receive(b"\x04").expect(Close(1000, "the daemon closed the connection"))


@pytest.mark.parametrize("frame", [b"\0{", b"\x07", b"\0{}"])
def test_a_frame_that_cannot_be_read_ends_the_link_and_it_may_be_dialled_again(
    frame: bytes,
) -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.receive(frame).fails(Close(None, slot(), retry=True))


def test_answers_to_no_request_are_passed_over() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.receive(yes(99)).expect()
        play.receive(yes(1)).expect()


def test_a_newer_link_takes_over() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.fenced("newer").expect(Close(1000, "newer", retry=False))


# --- starting


def test_a_start_is_asked_for_and_attached_to() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.perform(START).expect(
            Sent(say(3, start_message())), Sent(say(4, wire.AttachRun(ID, 0)))
        )
        play.receive(yes(3)).expect(Record(ID, (ACCEPTED,)))
        play.receive(attached(4)).expect()
        play.receive(event(1, w.Text("hi"))).expect(Record(ID, (e.TextProduced("hi"),), 1))


@pytest.mark.parametrize(
    ("code", "reason"),
    [(Code.INTERNAL, Reason.FAILED_TO_START), (Code.PROTOCOL_VIOLATION, Reason.REFUSED)],
)
def test_a_start_that_the_daemon_refuses(code: wire.ErrorCode, reason: Reason) -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.perform(START).take()
        failed = RunFinished(Outcome(RunState.FAILED, reason, "no such thing"))
        play.receive(no(3, code, "no such thing")).expect(Record(ID, (failed,)))
        play.receive(no(4, Code.NOT_FOUND, "run does not exist")).expect()


def test_a_run_that_the_daemon_already_has_is_ours() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.perform(START).take()
        play.receive(no(3, Code.CONFLICT, "run already exists")).expect()
        play.receive(attached(4, snapshot(2))).expect(Record(ID, (ACCEPTED,)))
        play.receive(event(1, w.Text("hi"))).expect(Record(ID, (e.TextProduced("hi"),), 1))


@pytest.mark.parametrize(
    "other",
    [
        {"provider": "codex"},
        {"model": "m"},
        {"workspace_roots": ("/x",)},
        {"metadata": {"projectId": "p2"}},
    ],
)
def test_another_run_of_the_same_id_is_not(other: dict[str, Any]) -> None:
    """The daemon may remember a run of a gateway whose journal is gone."""
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.perform(START).take()
        play.receive(no(3, Code.CONFLICT, "run already exists")).expect()
        taken = Outcome(RunState.FAILED, Reason.REFUSED, "the daemon has another run of this id")
        play.receive(attached(4, snapshot(2, **other))).expect(
            Record(ID, (RunFinished(taken),)), Sent(say(5, wire.DetachRun(ID)))
        )
        play.receive(event(1, w.Text("theirs"))).expect()


def test_a_daemon_that_is_stopping_refuses() -> None:
    """The same code as for a run that is there; the attachment tells them apart."""
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.perform(START).take()
        play.receive(no(3, Code.CONFLICT, "AgencyProxy is stopping")).expect()
        refused = Outcome(RunState.FAILED, Reason.REFUSED, "AgencyProxy is stopping")
        play.receive(no(4, Code.NOT_FOUND, "run does not exist")).expect(
            Record(ID, (RunFinished(refused),))
        )


def test_a_run_that_is_no_prompt_is_refused() -> None:
    spec = c.RunSpec(c.ShellCommand(line="ls"))
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        why = slot()
        play.perform(order(0, c.StartRun(ID, spec, c.Origin("gui", "run-1")))).expect(
            Record(ID, (RunFinished(Outcome(RunState.FAILED, Reason.REFUSED, why)),))
        )
        assert "adapt" in why.value


def test_a_prompt_that_no_frame_holds_is_refused() -> None:
    spec = to_spec(attrs.evolve(REQUEST, prompt="x" * wire.MAX_TEXT))
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        why = slot()
        play.perform(order(0, c.StartRun(ID, spec, c.Origin("gui", "run-1")))).expect(
            Record(ID, (RunFinished(Outcome(RunState.FAILED, Reason.REFUSED, why)),))
        )
        assert "does not fit" in why.value
        play.perform(START).expect(Sent(say(3, start_message())), Sent(slot()))


# --- taking up runs after a cut


def held(run: Run, *orders: Order) -> Held:
    return Held(run, orders)


def taken(native_seq: int = 0, **members: Any) -> Run:
    return make_run(accepted=True, native_seq=native_seq, state=RunState.RUNNING, **members)


def test_a_run_that_the_daemon_has_is_attached_to_where_the_journal_ends() -> None:
    with admit(play_client(), held(taken(5)), runs=(snapshot(9, 3),)) as play:
        play.expect(noted(5), Sent(say(3, wire.AttachRun(ID, 5))), WorkerReady())
        play.receive(attached(3, snapshot(9, 3))).expect()
        play.receive(event(6, w.Text("6"))).expect(Record(ID, (e.TextProduced("6"),), 6))


def test_an_accepted_run_that_the_daemon_does_not_have_is_lost() -> None:
    with admit(play_client(), held(taken(5), order(1, c.CancelRun(ID)))) as play:
        play.expect(endings.lost(ID, endings.UNKNOWN_RUN), WorkerReady())


def test_a_run_that_was_not_accepted_is_started_and_its_orders_follow() -> None:
    cancel = order(1, c.CancelRun(ID))
    with admit(play_client(), held(make_run(), cancel)) as play:
        play.expect(
            Sent(say(3, start_message())),
            Sent(say(4, wire.AttachRun(ID, 0))),
            Sent(say(5, wire.CancelRun(ID, f"{ID}:cancel"))),
            WorkerReady(),
        )


def test_a_run_that_was_started_without_our_hearing_of_it_is_not_started_again() -> None:
    with admit(play_client(), held(make_run()), runs=(snapshot(1),)) as play:
        play.expect(noted(0), Sent(say(3, wire.AttachRun(ID, 0))), WorkerReady())
        play.receive(attached(3, snapshot(1))).expect(Record(ID, (ACCEPTED,)))
        play.receive(event(1, w.Text("1"))).expect(Record(ID, (e.TextProduced("1"),), 1))


def test_a_held_run_that_is_no_prompt_any_more_is_lost() -> None:
    run = taken(spec=c.RunSpec(c.ToolCall("t")))
    with admit(play_client(), held(run), runs=(snapshot(1),)) as play:
        play.expect(
            Record(ID, (RunFinished(Outcome(RunState.LOST, Reason.LOST, slot())),)), WorkerReady()
        )


def test_other_runs_of_the_daemon_are_left_alone() -> None:
    with admit(play_client(), runs=(snapshot(9),)) as play:
        play.expect(WorkerReady())


def test_events_that_are_not_retained_are_a_gap_and_the_attachment_goes_on_there() -> None:
    with admit(play_client(), held(taken(5)), runs=(snapshot(3000),)) as play:
        play.expect(noted(5), Sent(slot()), WorkerReady())
        gap = GapFound(6, 952, "the daemon does not retain them any more")
        play.receive(no(3, Code.CONFLICT, EXPIRED.format(5, 952))).expect(
            Record(ID, (gap,), 952), Sent(say(4, wire.AttachRun(ID, 952)))
        )
        play.receive(attached(4, snapshot(3000))).expect()
        play.receive(event(953, w.Text("x"))).expect(Record(ID, (e.TextProduced("x"),), 953))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "run already exists",
        "replay is older than retained",
        EXPIRED.format(5, 2),
        EXPIRED.format(5, 10**19),
    ],
)
def test_where_the_daemon_does_not_say_from_where_on_its_list_does(text: str) -> None:
    with admit(play_client(), held(taken(5)), runs=(snapshot(3000),)) as play:
        play.expect(noted(5), Sent(slot()), WorkerReady())
        play.receive(no(3, Code.CONFLICT, text)).expect(Sent(say(4, wire.ListRuns())))
        gap = GapFound(6, 3000, "the daemon does not retain them any more")
        play.receive(wire.Response(4, wire.Runs((snapshot(3000),)))).expect(
            Record(ID, (gap,), 3000), Sent(say(5, wire.AttachRun(ID, 3000)))
        )


@pytest.mark.parametrize("runs", [(), (snapshot(5),)])
def test_and_if_that_does_not_help_the_run_is_lost(runs: tuple[wire.RunSnapshot, ...]) -> None:
    with admit(play_client(), held(taken(5)), runs=(snapshot(5),)) as play:
        play.expect(Sent(slot()), WorkerReady())
        play.receive(no(3, Code.CONFLICT, "older than retained")).expect(Sent(slot()))
        play.receive(wire.Response(4, wire.Runs(runs))).expect(
            Record(ID, (RunFinished(Outcome(RunState.LOST, Reason.LOST, slot())),))
        )


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (wire.Error(Code.NOT_FOUND, "run does not exist"), endings.UNKNOWN_RUN),
        (wire.Error(Code.INTERNAL, "boom"), "the daemon does not let us attach: boom"),
    ],
)
def test_a_run_that_cannot_be_attached_to_is_lost(error: wire.Error, text: str) -> None:
    with admit(play_client(), held(taken(5)), runs=(snapshot(5),)) as play:
        play.expect(Sent(slot()), WorkerReady())
        play.receive(wire.Response(3, error)).expect(endings.lost(ID, text))
        play.receive(event(6, w.Text("x"))).expect()


def test_a_daemon_that_counts_fewer_events_has_another_run() -> None:
    """It was restarted, and somebody used the id again."""
    with admit(play_client(), held(taken(5)), runs=(snapshot(2),)) as play:
        play.expect(Sent(slot()), WorkerReady())
        play.receive(attached(3, snapshot(2))).expect(
            Record(ID, (RunFinished(Outcome(RunState.LOST, Reason.LOST, slot())),)),
            Sent(say(4, wire.DetachRun(ID))),
        )


ENDS = [
    (wire.RunState.COMPLETED, RunState.SUCCEEDED),
    (wire.RunState.FAILED, RunState.FAILED),
    (wire.RunState.CANCELED, RunState.CANCELED),
    (wire.RunState.INTERRUPTED, RunState.LOST),
]


@pytest.mark.parametrize(("theirs", "ours"), ENDS)
def test_a_run_whose_last_event_will_not_come_ends_by_its_state(
    theirs: wire.RunState, ours: RunState
) -> None:
    run = snapshot(5, 5, state=theirs)
    with admit(play_client(), held(taken(5)), runs=(run,)) as play:
        play.expect(Sent(slot()), WorkerReady())
        outcome = Outcome(ours, slot(), slot())
        play.receive(attached(3, run)).expect(
            Record(ID, (RunFinished(outcome),)), Sent(say(4, wire.DetachRun(ID)))
        )


def test_events_that_another_client_acknowledged_are_a_gap_before_the_end() -> None:
    run = snapshot(9, 2**64 - 1, state=wire.RunState.COMPLETED)
    with admit(play_client(), held(taken(5)), runs=(run,)) as play:
        play.expect(Sent(slot()), WorkerReady())
        gap = GapFound(6, 9, "another client acknowledged them")
        play.receive(attached(3, run)).expect(
            Record(ID, (gap, RunFinished(slot())), 9), Sent(say(4, wire.DetachRun(ID)))
        )


def test_an_ended_run_whose_last_events_are_kept_ends_by_them() -> None:
    run = snapshot(6, 5, state=wire.RunState.COMPLETED)
    with admit(play_client(), held(taken(5)), runs=(run,)) as play:
        play.expect(noted(5), Sent(slot()), WorkerReady())
        play.receive(attached(3, run)).expect()
        end = w.Failed("boom")
        play.receive(event(6, end)).expect(Record(ID, (RunFinished(to_outcome(end)),), 6))


# --- events


@pytest.mark.parametrize("what", EVENTS)
def test_every_event_is_recorded_with_the_daemon_s_number(what: w.RunEvent) -> None:
    with admit(play_client()) as play:
        started(play).receive(event(1, what)).expect(Record(ID, to_event(what), 1))


def test_i4_an_event_is_taken_once() -> None:
    with admit(play_client()) as play:
        started(play)
        for sequence in (1, 2):
            play.receive(event(sequence, w.Text("x"))).take()
        for sequence in (1, 2, 0):
            play.receive(event(sequence, w.Text("again"))).expect()
        play.receive(event(3, w.Text("y"))).expect(Record(ID, (e.TextProduced("y"),), 3))


def test_i10_fault_17_numbers_that_did_not_come_are_a_gap() -> None:
    with admit(play_client()) as play:
        started(play).receive(event(1, w.Text("x"))).take()
        gap = GapFound(2, 4, "the daemon did not send them")
        play.receive(event(5, w.Text("y"))).expect(Record(ID, (gap, e.TextProduced("y")), 5))
        play.receive(event(3, w.Text("late"))).expect()


def test_a_number_that_storage_cannot_hold_ends_the_link() -> None:
    with admit(play_client()) as play:
        started(play).receive(event(2**63, w.Text("x"))).fails(Close(None, slot()))


def test_an_event_of_a_later_version_is_said_and_not_fatal() -> None:
    with admit(play_client()) as play:
        said = e.Diagnosed("the daemon sent an event of type 'weather'", "unknown_event")
        started(play).receive(event(1, w.UnknownEvent("weather", None))).expect(
            Record(ID, (said,), 1)
        )


def test_events_of_runs_that_are_not_ours_are_passed_over() -> None:
    with admit(play_client()) as play:
        started(play).receive(event(1, w.Text("x"), run="theirs")).expect()


def test_i5_nothing_is_taken_after_the_end() -> None:
    with admit(play_client()) as play:
        started(play).receive(event(1, w.Failed("boom"))).take()
        play.receive(event(2, w.Text("late"))).expect()
        play.receive(event(3, w.Failed("again"))).expect()


# --- acknowledging


def test_i3_nothing_is_acknowledged_before_it_is_durable() -> None:
    with admit(play_client(ack_every=2)) as play:
        started(play)
        for sequence in (1, 2, 3):
            steps = play.receive(event(sequence, w.Text("x"))).take()
            assert [type(step) for step in steps] == [Record]
        play.committed(ID, 2).expect(Sent(say(5, wire.AckEvents(ID, 2))))


def test_one_acknowledgement_of_a_run_is_under_way_at_a_time() -> None:
    with admit(play_client(ack_every=2)) as play:
        started(play)
        for sequence in range(1, 8):
            play.receive(event(sequence, w.Text("x"))).take()
        play.committed(ID, 2).expect(Sent(say(5, wire.AckEvents(ID, 2))))
        play.committed(ID, 4).expect()
        play.committed(ID, 6).expect()
        play.receive(yes(5)).expect(Sent(say(6, wire.AckEvents(ID, 6))))
        play.receive(yes(6)).expect()


def test_few_events_are_acknowledged_after_a_while() -> None:
    with admit(play_client(ack_delay=0.5)) as play:
        started(play).receive(event(1, w.Text("x"))).take()
        play.committed(ID, 1).expect(Wake(play.now + SECOND // 2))
        play.tick().expect(Sent(say(5, wire.AckEvents(ID, 1))), Wake(play.now + 60 * SECOND))
        play.receive(no(5, Code.NOT_FOUND, "run does not exist")).expect()


def test_the_end_is_acknowledged_at_once_and_the_run_let_go() -> None:
    with admit(play_client()) as play:
        started(play).receive(event(1, w.Failed("boom"))).take()
        play.committed(ID, 1).expect(
            Sent(say(5, wire.AckEvents(ID, 1))), Sent(say(6, wire.DetachRun(ID)))
        )
        play.receive(yes(5)).expect()
        play.receive(yes(6)).expect()
        play.committed(ID, 1).expect()


def test_acknowledging_can_be_left_to_others() -> None:
    with admit(play_client(acknowledge=False)) as play:
        started(play).receive(event(1, w.Text("x"))).take()
        play.committed(ID, 1).expect()
        play.receive(event(2, w.Failed("boom"))).take()
        play.committed(ID, 2).expect(Sent(say(5, wire.DetachRun(ID))))
        play.drain().expect()


def test_a_gateway_that_stops_says_what_is_safe() -> None:
    with admit(play_client()) as play:
        started(play).receive(event(1, w.Text("x"))).take()
        play.committed(ID, 1).take()
        play.drain().expect(Sent(say(5, wire.AckEvents(ID, 1))))
        play.drain().expect()
        play.closed().expect()


@pytest.mark.parametrize("acknowledged", [3, 5, 9])
def test_a_run_that_was_taken_up_is_acknowledged_as_far_as_the_journal_has_it(
    acknowledged: int,
) -> None:
    run = snapshot(9, acknowledged)
    with admit(play_client(), held(taken(5)), runs=(run,)) as play:
        play.take()
        said = [Sent(say(4, wire.AckEvents(ID, 5)))] if acknowledged < 5 else []
        play.drain().expect(*said)


@pytest.mark.limit("protocols/agency/attaching.MAX_ENDING")
def test_ends_that_nobody_confirms_are_forgotten_at_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attaching, "MAX_ENDING", 1)
    runs = [RunId(f"gui/run-{at}") for at in range(3)]
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        for run in runs:
            play.perform(
                Order(run, OrderNumber(0), c.StartRun(run, SPEC, c.Origin("gui", "x")))
            ).take()
        for run in runs:
            play.receive(event(1, w.Failed("boom"), run=run)).take()
        for run in runs[:2]:
            play.committed(run, 1).expect()
        play.committed(runs[2], 1).expect(
            Sent(say(9, wire.AckEvents(runs[2], 1))), Sent(say(10, wire.DetachRun(runs[2])))
        )


# --- orders


ORDERS: list[tuple[c.RunCommand, wire.ClientMessage]] = [
    (c.SendInput(ID, b"hi", newline=True), wire.InjectMessage(ID, "hi", f"{ID}:inject:1")),
    (c.CancelRun(ID), wire.CancelRun(ID, f"{ID}:cancel")),
    (c.SignalRun(ID, Signal.TERMINATE), wire.CancelRun(ID, f"{ID}:cancel")),
    (c.SignalRun(ID, Signal.KILL), wire.CancelRun(ID, f"{ID}:cancel")),
    (c.SignalRun(ID, Signal.INTERRUPT), wire.CancelRun(ID, f"{ID}:cancel")),
    (
        c.ResolveApproval(ID, "ap-1", e.Decision.DENY),
        wire.DecideApproval(ID, "ap-1", wire.ApprovalDecision.DENY, f"{ID}:approval:ap-1"),
    ),
]


@pytest.mark.parametrize(("command", "message"), ORDERS)
def test_an_order_is_a_request_and_its_answer_settles_it(
    command: c.RunCommand, message: wire.ClientMessage
) -> None:
    number = 1 if isinstance(command, c.SendInput) else 0
    with admit(play_client()) as play:
        started(play).perform(order(1, command, number)).expect(Sent(say(5, message)))
        settled: list[Any] = [Settle(ID, OrderNumber(1))]
        if number:
            settled.append(Record(ID, (e.InputAccepted(1),)))
        play.receive(yes(5)).expect(*settled)


@pytest.mark.parametrize(("command", "message"), ORDERS)
def test_an_order_that_the_daemon_refuses(
    command: c.RunCommand, message: wire.ClientMessage
) -> None:
    with admit(play_client()) as play:
        started(play).perform(order(1, command, 1)).take()
        why = slot()
        play.receive(no(5, Code.INTERNAL, "agent control failed: x")).expect(
            Settle(ID, OrderNumber(1), why)
        )
        assert isinstance(why.value, errors.WorkerFailed)
        assert why.value.message == "agent control failed: x"


def test_a_run_that_was_canceled_before_is_canceled() -> None:
    with admit(play_client()) as play:
        started(play).perform(order(1, c.CancelRun(ID))).take()
        play.receive(no(5, Code.CONFLICT, "run already exists")).expect(Settle(ID, OrderNumber(1)))


def test_an_order_for_a_run_that_the_daemon_does_not_know_loses_the_run() -> None:
    with admit(play_client()) as play:
        started(play).perform(order(1, c.CancelRun(ID))).take()
        why = slot()
        play.receive(no(5, Code.NOT_FOUND, "run does not exist")).expect(
            Settle(ID, OrderNumber(1), why), endings.lost(ID, endings.UNKNOWN_RUN)
        )
        assert isinstance(why.value, errors.RunNotFound)


@pytest.mark.parametrize(
    "command",
    [
        c.ResizeTerminal(ID, 24, 80),
        c.SupplyScript(ID, b""),
        c.SignalRun(ID, Signal.HANGUP),
        c.ResolveApproval(ID, "ap-1", e.Decision.VALUE, "42"),
    ],
)
def test_what_a_daemon_cannot_do_is_refused(command: c.RunCommand) -> None:
    with admit(play_client()) as play:
        why = slot()
        started(play).perform(order(1, command)).expect(Settle(ID, OrderNumber(1), why))
        assert isinstance(why.value, errors.InvalidArgument)


def test_i10_the_end_of_input_which_a_daemon_does_not_know_is_refused() -> None:
    with admit(play_client()) as play:
        why = slot()
        closing = order(2, c.CloseInput(ID), 2)
        started(play).perform(closing).expect(Settle(ID, OrderNumber(2), why))
        assert isinstance(why.value, errors.UnsupportedInput)


def test_an_input_that_no_frame_holds_is_refused() -> None:
    with admit(play_client()) as play:
        why = slot()
        started(play).perform(order(1, c.SendInput(ID, b"x" * wire.MAX_TEXT), 1)).expect(
            Settle(ID, OrderNumber(1), why)
        )
        assert isinstance(why.value, errors.InvalidArgument)


def test_a_character_that_two_inputs_share_arrives_whole() -> None:
    whole = "é".encode()
    with admit(play_client()) as play:
        started(play)
        for number, data, body in ((1, b"a" + whole[:1], "a"), (2, whole[1:] + b"b", "éb")):
            message = wire.InjectMessage(ID, body, f"{ID}:inject:{number}")
            play.perform(order(number, c.SendInput(ID, data), number)).expect(
                Sent(say(4 + number, message))
            )


def test_an_order_for_a_run_that_has_ended_is_refused() -> None:
    with admit(play_client()) as play:
        started(play).receive(event(1, w.Failed("boom"))).take()
        for command in (c.CancelRun(ID), c.SendInput(ID, b"x")):
            why = slot()
            play.perform(order(1, command)).expect(Settle(ID, OrderNumber(1), why))
            assert isinstance(why.value, errors.RunNotFound)


def test_from_minor_4_on_an_interrupt_lets_the_run_live() -> None:
    """Both sides must speak it, and the provider must have named its session."""
    interrupt = c.SignalRun(ID, Signal.INTERRUPT)
    run = taken(native_session="s-1")
    with play_client(version_minor=4) as play:
        play.opened(Opening(link="pool")).take()
        play.receive(welcome(4)).take()
        play.receive(wire.Response(2, wire.Runs((snapshot(0),)))).take()
        play.reply(None, Admission(Epoch(1), (held(run),))).take()
        play.receive(attached(3)).expect()
        play.perform(order(1, interrupt)).take()
        play.receive(wire.Response(4, wire.SessionInterrupted(True))).expect(
            Settle(ID, OrderNumber(1))
        )
        play.receive(event(1, w.SessionOpened("s-2"))).take()
        message = wire.InterruptSession("claude", "s-2", f"{ID}:interrupt:2")
        play.perform(order(2, interrupt)).expect(Sent(say(5, message)))
        why = slot()
        play.receive(wire.Response(5, wire.SessionInterrupted(False))).expect(
            Settle(ID, OrderNumber(2), why)
        )
        assert isinstance(why.value, errors.WorkerFailed)


def test_a_daemon_that_leaves_a_request_unanswered_is_given_up() -> None:
    with admit(play_client(request_timeout=20.0)) as play:
        started(play).perform(order(1, c.CancelRun(ID))).take()
        play.later(19)
        play.receive(yes(5)).take()
        play.perform(order(2, c.CancelRun(ID))).take()
        assert play.wake is not None
        play.tick().take()
        play.later(30).tick().expect(Close(None, "the daemon answered nothing for 20 s"))


def test_each_answer_starts_the_wait_anew() -> None:
    with admit(play_client(request_timeout=20.0)) as play:
        play.expect(WorkerReady())
        play.perform(START).take()
        begun = play.now
        play.later(15).receive(yes(3)).take()
        play.tick().expect(Wake(begun + 35 * SECOND))
        play.receive(attached(4)).expect()
        play.later(600).tick().expect()


# --- questions


def test_providers_are_asked_for() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.ask(7, c.ProbeWorkers("gui")).expect(Sent(say(3, wire.ProbeProviders())))
        status = wire.ProviderStatus("claude", True, False, "logged_in", "{}", "", version="2")
        report = ProviderReport("claude", True, "2", auth_state="logged_in", detail="{}")
        play.receive(wire.Response(3, wire.Providers((status,)))).expect(Respond(7, (report,)))


def test_account_usage_is_asked_for() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.ask(8, c.ReadUsage("gui")).expect(Sent(say(3, wire.ReadAccountUsage())))
        usage = wire.ProviderAccountUsage("codex", True, {"used": 1})
        report = AccountReport("codex", True, {"used": 1})
        play.receive(wire.Response(3, wire.AccountUsage((usage,)))).expect(Respond(8, (report,)))


def test_a_question_that_the_daemon_cannot_answer() -> None:
    with admit(play_client()) as play:
        play.expect(WorkerReady())
        play.ask(8, c.ReadUsage("gui")).take()
        why = slot()
        play.receive(no(3, Code.INTERNAL, "broken")).expect(Respond(8, why))
        assert isinstance(why.value, errors.WorkerFailed)


# --- settings


def test_what_a_run_does_not_name_is_set() -> None:
    spec = c.RunSpec(c.Prompt("p"))
    request = from_spec(spec, "codex", "plan")
    with admit(play_client(provider="codex", permission="plan")) as play:
        play.expect(WorkerReady())
        play.perform(order(0, c.StartRun(ID, spec, c.Origin("x", "y")))).expect(
            Sent(say(3, start_message(request=request))), Sent(slot())
        )
        assert (request.provider, request.permission) == ("codex", "plan")


# --- the short way of texts

OTHER = RunId('gui/"run"\u00e4,"sequence":')
START_ORIGIN = c.Origin("gui", "run-2")
few = st.integers(0, 3)
said = st.one_of(
    st.builds(w.Text, st.text(max_size=3) | st.just("x" * (65 * 1024))),
    st.builds(w.Text, st.text(max_size=3)),
    st.just(w.MessageBoundary()),
    st.just(w.Finished({"text": "done"})),
)
told = st.one_of(
    st.tuples(
        st.sampled_from([1, 1, 1, 1, 1, 1, 0, 2]),
        said,
        st.sampled_from([ID, ID, ID, OTHER, OTHER, OTHER, "another"]),
    ),
    st.sampled_from(
        [b"\x00{", b"\x00", b"\x02", b'\x00{"kind":"event","kind":"event"}', b"\x01\xff"]
    ),
)


@given(st.lists(told, max_size=10))
def test_texts_come_to_the_same_by_the_short_way_as_by_the_long_one(
    script: list[tuple[int, w.RunEvent, str] | bytes],
) -> None:
    frames: list[bytes] = []
    last = {ID: 0, OTHER: 0, "another": 0}
    for each in script:
        if isinstance(each, bytes):
            frames.append(each)
            continue
        ahead, what, run = each
        frames.append(event(last[run] + ahead, what, run))
        last[run] += ahead == 1
    with admit(play_client()) as short, admit(play_client()) as long:
        for play in (short, long):
            started(play)
            play.perform(Order(OTHER, OrderNumber(0), c.StartRun(OTHER, SPEC, START_ORIGIN))).take()
            play.receive(yes(5)).take()
            play.receive(attached(6)).take()
        by_short_way = outcome(short.connection, frames, short.now, bulk=True)
        assert by_short_way == outcome(long.connection, frames, long.now, bulk=False)


def test_texts_of_runs_that_take_turns_are_taken_together() -> None:
    with admit(play_client()) as play:
        started(play)
        play.perform(Order(OTHER, OrderNumber(0), c.StartRun(OTHER, SPEC, START_ORIGIN))).take()
        play.receive(yes(5)).take()
        play.receive(attached(6)).take()
        connection = play.connection
        assert isinstance(connection, BulkConnection)
        frames = [event(n, w.Text(f"{n}{run}"), run) for n in (1, 2) for run in (ID, OTHER)]
        taken = connection.receive_bulk([*frames, event(3, w.MessageBoundary())], play.now)
        assert taken is not None
        assert taken.taken == 4
        for run in (ID, OTHER):
            assert taken.heard[run] == [((e.TextProduced(f"{n}{run}"),), n, None) for n in (1, 2)]
