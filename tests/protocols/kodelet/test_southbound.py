"""The control plane's side of a conversation (cases 25 to 49 of its kind)."""

from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Admission, Held, WorkerList
from fleetgate.core.commands import RunSpec, ToolCall
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import Outcome, Reason, RunFinished, RunStarted, RunState
from fleetgate.core.ids import Epoch, RunId, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.worker import InputKind, Liveness, WorkerInfo, WorkerStatus
from fleetgate.protocols.api import (
    AnnounceWorker,
    Close,
    Record,
    ReportCapacity,
    Submit,
    Wake,
    WithdrawWorker,
    WorkerReady,
)
from fleetgate.protocols.kodelet import errors, southbound
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.names import runner_id
from fleetgate.protocols.kodelet.southbound import REGISTRATIONS
from fleetgate.protocols.kodelet.testing import ask, beat, no, rest, said, tell, yes
from fleetgate.protocols.testing import SECOND

RUN = RunId("gui/r1")


def outcome(steps: Any) -> Outcome:
    (record,) = (
        s for s in steps if isinstance(s, Record) and isinstance(s.events[-1], RunFinished)
    )
    return record.events[-1].outcome


def events(steps: Any) -> list[e.Event]:
    return [event for s in steps if isinstance(s, Record) for event in s.events]


def params(steps: Any, method: str) -> Any:
    (found,) = (m["params"] for m in said(steps) if m["method"] == method)
    return found


def known(*ids: str) -> WorkerList:
    return WorkerList(tuple(_status(id) for id in ids))


def _status(id: str) -> WorkerStatus:
    info = WorkerInfo(WorkerId(f"pool/{id}"), "pool", frozenset({InputKind.TOOL}))
    return WorkerStatus(info, Liveness.AWAY, Epoch(1), 0, 0, 0)


# --- registration


def test_a_registration_is_announced_and_answered_with_the_epoch() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        play.receive(ask("runner:1", "runner.register", t.REGISTER))
        (asked,) = play.take()
        assert t.RUNNER in asked.command.ids[0], "not for all of a fleet"
        play.reply(asked.reply_to, WorkerList(()))
        (announced,) = play.take()
        assert isinstance(announced, AnnounceWorker)
        info = announced.worker
        assert asked.command.ids == (info.id, "pool/")
        assert (info.id, info.grace, info.pool) == (f"pool/{t.RUNNER}", 0, "pool")
        assert info.inputs == {InputKind.TOOL, InputKind.SHELL}
        play.reply(announced.reply_to, Admission(Epoch(7), ()))
        steps = play.take()
        (answer,) = said(steps)
        assert answer["result"] == {
            "runnerId": t.RUNNER,
            "protocolVersion": 1,
            "connectionId": "conn_AAAAAAAAAAAAAAAA",
            "generation": 7,
            "heartbeatIntervalMs": 15000,
        }
        assert rest(steps) == [Wake(play.now + 15 * SECOND)]


def test_case_25_the_id_comes_from_the_identity_and_survives_a_restart() -> None:
    for generation in (1, 2):
        with t.play_control_plane() as play:
            play.opened(t.OPENING).take()
            (answer,) = said(t.register(play, generation=generation))
            assert answer["result"]["runnerId"] == t.RUNNER
            assert answer["result"]["generation"] == generation
    assert runner_id("another entry", "host-one", "/srv/project") != t.RUNNER


def test_case_25_a_newcomer_has_the_runner_and_the_older_link_is_cut() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.perform(t.start_order("gui/r2")).take()
        play.fenced().expect(Close(None, southbound.REPLACED))
        play.closed().expect()


def test_case_49_what_the_older_link_had_is_lost() -> None:
    run = Run(RUN, RunSpec(ToolCall("x")), c.Origin("gui", "r1"), 1)
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        ended = outcome(t.register(play, Held(run, ()), generation=2))
        assert (ended.state, ended.message) == (RunState.LOST, southbound.REPLACED)


OTHER = runner_id(t.INSTANCE, "host-one", "/srv/other")


@pytest.mark.parametrize(
    ("shown", "workers", "error"),
    [
        ("runner_x", (), errors.UNKNOWN_RUNNER),
        (t.RUNNER, (), errors.UNKNOWN_RUNNER),
        (OTHER, (OTHER,), errors.OTHER_IDENTITY),
        ("runner_x", (t.RUNNER,), errors.OTHER_ID),
        (t.RUNNER, (t.RUNNER,), None),
        ("", (t.RUNNER,), None),
    ],
)
def test_case_27_id_conflicts(shown: str, workers: tuple[str, ...], error: Any) -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        play.receive(ask("runner:1", "runner.register", {**t.REGISTER, "runnerId": shown}))
        (asked,) = play.take()
        play.reply(asked.reply_to, known(*workers))
        steps = play.take()
        if error is None:
            assert isinstance(steps[0], AnnounceWorker)
            return
        (answer,) = said(steps)
        assert answer["error"]["code"] == error.code
        assert answer["error"]["message"] == error.message
        assert answer["error"].get("data") == error.data
        play.receive(ask("runner:2", "runner.register", t.REGISTER))
        assert isinstance(play.take()[0], Submit)


IDENTITY = {"host": {"instanceId": " "}, "workspace": {"path": "/w", "name": "w"}}


@pytest.mark.parametrize(
    ("frame", "code", "text"),
    [
        (ask("a", "ui.notify", {}), -32600, "runner.register must be the first request"),
        (t.frame(id="a", method="runner.register"), -32602, "rpc params are required"),
        (ask("a", "runner.register"), -32602, "does not support protocol version 1"),
        (
            ask("a", "runner.register", {**t.REGISTER, "protocolVersions": [2]}),
            -32602,
            "does not support protocol version 1",
        ),
        (
            ask("a", "runner.register", {**t.REGISTER, **IDENTITY}),
            -32602,
            "host.instanceId is required",
        ),
        (
            ask("a", "runner.register", {**t.REGISTER, "workspace": {"name": "w"}}),
            -32602,
            "workspace.path is required",
        ),
        (
            ask("a", "runner.register", {**t.REGISTER, "workspace": {"path": "/w"}}),
            -32602,
            "workspace.name is required",
        ),
        (ask("a", "runner.register", {"protocolVersions": 1}), -32602, "an array"),
    ],
)
def test_w_15_3_registration_and_ordering_errors(frame: bytes, code: int, text: str) -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        play.receive(frame)
        (answer,) = said(play.take())
        assert answer["error"]["code"] == code
        assert text in answer["error"]["message"]


def test_after_registration_once_is_enough_and_methods_of_ours_are_unknown() -> None:
    with t.ready(t.play_control_plane()) as play:
        for method, code in (("runner.register", -32600), ("run.open", -32601)):
            play.receive(ask("r", method, {}))
            (answer,) = said(play.take())
            assert answer["error"]["code"] == code


def test_w_6_2_a_second_registration_waits_until_the_first_has_ended() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        stranger = {**t.REGISTER, "runnerId": "runner_x"}
        play.receive(ask("runner:1", "runner.register", stranger))
        (asked,) = play.take()
        play.receive(ask("runner:2", "runner.register", {**t.REGISTER, "protocolVersions": [2]}))
        play.receive(ask("runner:3", "runner.register", t.REGISTER))
        play.receive(ask("runner:4", "runner.register", t.REGISTER)).expect()
        play.reply(asked.reply_to, known())
        taken = play.take()
        answers = {each["id"]: each["error"]["code"] for each in said(taken)}
        assert answers == {"runner:1": -32002, "runner:2": -32602}
        (again,) = [step for step in taken if isinstance(step, Submit)]
        play.reply(again.reply_to, known())
        (announced,) = play.take()
        assert isinstance(announced, AnnounceWorker)
        play.reply(announced.reply_to, Admission(Epoch(1), ()))
        first, second = said(play.take())
        assert (first["id"], first["result"]["generation"]) == ("runner:3", 1)
        assert (second["id"], second["error"]["code"]) == ("runner:4", -32600)
        assert second["error"]["message"] == errors.REGISTERED.message


@pytest.mark.limit("protocols/kodelet/southbound.REGISTRATIONS")
def test_i9_so_many_registrations_wait() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        play.receive(ask("runner:1", "runner.register", t.REGISTER)).take()
        for number in range(REGISTRATIONS):
            play.receive(ask(f"waits:{number}", "runner.register", t.REGISTER)).expect()
        play.receive(ask("late", "runner.register", t.REGISTER))
        (answer,) = said(play.take())
        assert (answer["id"], answer["error"]["message"]) == ("late", errors.OVERLOADED.message)


def test_a_core_that_does_not_admit_is_a_failed_registration() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        play.receive(ask("runner:1", "runner.register", t.REGISTER))
        (asked,) = play.take()
        play.reply(asked.reply_to, Unavailable("the journal fails"))
        (answer,) = said(play.take())
        assert answer["error"] == {"code": -32602, "message": "the journal fails"}


def test_i9_a_link_that_never_registers_ends() -> None:
    """Whatever it says meanwhile, for the genuine one has no limit but its pongs (W 7.1)."""
    with t.play_control_plane(register_timeout=5) as play:
        play.opened(t.OPENING).expect(Wake(play.now + 5 * SECOND))
        play.receive(tell("runner.heartbeat")).expect()
        play.receive(ask("runner:1", "runner.register", {}))
        (answer,) = said(play.take())
        assert answer["error"]["code"] == -32602
        play.receive(ask("runner:2", "ui.confirm"))
        (answer,) = said(play.take())
        assert answer["error"]["message"] == errors.REGISTER_FIRST.message
        play.tick().expect(Close(None, "no runner registered within 5 s"))


def test_i9_a_runner_that_waits_for_our_journal_is_not_late() -> None:
    with t.play_control_plane(register_timeout=5) as play:
        play.opened(t.OPENING).take()
        play.receive(ask("runner:1", "runner.register", t.REGISTER))
        (asked,) = play.take()
        play.tick().expect(Wake(play.now + 5 * SECOND))
        play.reply(asked.reply_to, Unavailable("the journal fails")).take()
        play.tick().expect(Close(None, "no runner registered within 5 s"))


def test_a_runner_that_registers_at_its_second_try_has_no_limit_any_more() -> None:
    with t.play_control_plane(register_timeout=5) as play:
        play.opened(t.OPENING).take()
        play.receive(ask("runner:1", "runner.register", {})).take()
        t.register(play)
        play.receive(beat()).take()
        for _ in range(5):
            assert not any(isinstance(step, Close) for step in play.tick().take())
            play.receive(beat()).take()


def test_a_link_that_did_not_offer_the_subprotocol_is_closed() -> None:
    with t.play_control_plane() as play:
        play.opened(attrs.evolve(t.OPENING, headers={"host": "x"}))
        play.expect(Close(1002, "runner subprotocol negotiation failed"))
    offered = {"sec-websocket-protocol": "other, kodelet.runner.v1.jsonrpc"}
    with t.play_control_plane() as play:
        (wake,) = play.opened(attrs.evolve(t.OPENING, headers=offered)).take()
        assert isinstance(wake, Wake)


# --- liveness


def test_case_31_no_work_before_the_first_valid_heartbeat() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        t.register(play)
        play.receive(beat("future")).expect()
        play.receive(beat(generation=2)).expect()
        play.receive(beat()).expect(WorkerReady(None))
        play.receive(beat("error")).expect(ReportCapacity(0))
        play.receive(beat()).expect(ReportCapacity(None))


def test_case_33_no_heartbeat_for_too_long_loses_all_and_drops_the_link() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        for _ in range(3):
            play.tick().take()
        play.tick()
        steps = play.take()
        assert outcome(steps).message == "runner heartbeat timed out"
        assert steps[-1] == Close(None, "runner heartbeat timed out")


def test_heartbeats_keep_a_runner() -> None:
    with t.ready(t.play_control_plane()) as play:
        for _ in range(20):
            play.receive(beat()).take()
            play.tick().take()


def test_case_35_an_opening_run_may_be_missing_for_ever() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        for _ in range(5):
            play.receive(beat()).expect()
        play.receive(yes(opening["id"], t.manifest()))
        assert RunStarted() in events(play.take())


def test_three_omissions_in_a_row_lose_a_run_and_a_report_starts_anew() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        for state in ((), (), (t.wire_id(),), (), ()):
            play.receive(beat("running" if state else "idle", *state)).expect()
        play.receive(beat())
        steps = play.take()
        assert outcome(steps).state is RunState.LOST
        assert "for 3 consecutive heartbeats" in outcome(steps).message
        assert said(steps) == []


def test_case_37_goodbye_loses_all_and_leaves_the_link_open() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.receive(t.frame(method="runner.goodbye"))
        steps = play.take()
        assert outcome(steps) == Outcome(RunState.LOST, Reason.LOST, "")
        assert steps[1] == WithdrawWorker("runner.goodbye", gone=True)
        play.receive(beat()).expect()
        play.receive(ask("runner:2", "runner.register", t.REGISTER))
        (answer,) = said(play.take())
        assert answer["error"]["code"] == -32600


def test_a_lost_link_loses_its_runs_at_once() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.closed("cut")
        assert outcome(play.take()) == Outcome(
            RunState.LOST, Reason.LOST, "the link to the runner ended: cut"
        )


def test_notifications_before_registration_and_unreadable_ones_are_passed_over() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        play.receive(beat()).expect()
        t.register(play)
        play.receive(tell("runner.heartbeat", {"generation": "1"}))
        (report,) = play.take()
        assert report.what == "kodelet_unreadable_notification"
        play.receive(tell("whatever")).expect()


# --- capacity


def test_case_45_one_run_at_a_time_unless_the_runner_says_otherwise() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        t.register(play, capabilities={})
        play.receive(beat()).expect(WorkerReady(1))
        play.perform(t.start_order())
        steps = play.take()
        assert ReportCapacity(0) in steps
        play.receive(no(said(steps)[0]["id"], -32603))
        assert ReportCapacity(1) in play.take()


def test_a_run_that_is_refused_here_leaves_its_room() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING).take()
        t.register(play, capabilities={})
        play.receive(beat()).expect(WorkerReady(1))
        play.perform(t.start_order(spec=RunSpec(ToolCall("command.execute"))))
        steps = play.take()
        assert outcome(steps).reason is Reason.REFUSED
        assert steps[-1] == ReportCapacity(1)


def test_case_45_a_conversation_has_one_run() -> None:
    spec = RunSpec(ToolCall("bash"), session=c.SessionId("talk"))
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order("gui/r1", spec)).take()
        play.perform(t.start_order("gui/r2", spec))
        steps = play.take()
        assert said(steps) == []
        assert "conversation already has active run" in outcome(steps).message


def test_drain_takes_no_more_runs() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.drain().expect(ReportCapacity(0))
