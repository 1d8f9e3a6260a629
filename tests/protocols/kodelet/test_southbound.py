"""The control plane's side of a conversation (cases 25 to 65 of its kind)."""

from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Admission, Held, WorkerList
from fleetgate.core.commands import Order, Prompt, RunSpec, ShellCommand, ToolCall
from fleetgate.core.errors import Unavailable, UnsupportedInput
from fleetgate.core.events import Outcome, Reason, RunFinished, RunStarted, RunState
from fleetgate.core.ids import Epoch, OrderNumber, RunId, WorkerId
from fleetgate.core.run import Run
from fleetgate.core.worker import InputKind, Liveness, WorkerInfo, WorkerStatus
from fleetgate.protocols.api import (
    AnnounceWorker,
    Close,
    Opening,
    Record,
    ReportCapacity,
    Settle,
    Submit,
    Wake,
    WithdrawWorker,
    WorkerReady,
)
from fleetgate.protocols.kodelet import errors, southbound
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.names import runner_id
from fleetgate.protocols.kodelet.testing import ask, beat, no, rest, said, tell, yes
from fleetgate.protocols.testing import SECOND, Playbook

RUN = RunId("gui/r1")
CANCEL = t.order("gui/r1", 1, c.CancelRun(RUN))


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
        play.opened(t.OPENING)
        play.receive(ask("runner:1", "runner.register", t.REGISTER))
        (asked,) = play.take()
        play.reply(asked.reply_to, WorkerList(()))
        (announced,) = play.take()
        assert isinstance(announced, AnnounceWorker)
        info = announced.worker
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
            play.opened(t.OPENING)
            (answer,) = said(t.register(play, generation=generation))
            assert answer["result"]["runnerId"] == t.RUNNER
            assert answer["result"]["generation"] == generation
    assert runner_id("another entry", "host-one", "/srv/project") != t.RUNNER


def test_case_25_a_newcomer_has_the_runner_and_the_older_link_is_cut() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.fenced().expect(Close(None, southbound.REPLACED))
        play.closed().expect()


def test_case_49_what_the_older_link_had_is_lost() -> None:
    run = Run(RUN, RunSpec(ToolCall("x")), c.Origin("gui", "r1"), 1)
    with t.play_control_plane() as play:
        play.opened(t.OPENING)
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
        play.opened(t.OPENING)
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
        play.opened(t.OPENING)
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


def test_a_core_that_does_not_admit_is_a_failed_registration() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING)
        play.receive(ask("runner:1", "runner.register", t.REGISTER))
        (asked,) = play.take()
        play.reply(asked.reply_to, Unavailable("the journal fails"))
        (answer,) = said(play.take())
        assert answer["error"] == {"code": -32602, "message": "the journal fails"}


def test_a_link_that_did_not_offer_the_subprotocol_is_closed() -> None:
    with t.play_control_plane() as play:
        play.opened(attrs.evolve(t.OPENING, headers={"host": "x"}))
        play.expect(Close(1002, "runner subprotocol negotiation failed"))
    offered = {"sec-websocket-protocol": "other, kodelet.runner.v1.jsonrpc"}
    with t.play_control_plane() as play:
        play.opened(attrs.evolve(t.OPENING, headers=offered)).expect()


# --- liveness


def test_case_31_no_work_before_the_first_valid_heartbeat() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING)
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
        play.opened(t.OPENING)
        play.receive(beat()).expect()
        t.register(play)
        play.receive(tell("runner.heartbeat", {"generation": "1"}))
        (report,) = play.take()
        assert report.what == "kodelet_unreadable_notification"
        play.receive(tell("whatever")).expect()


# --- capacity


def test_case_45_one_run_at_a_time_unless_the_runner_says_otherwise() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING)
        t.register(play, capabilities={})
        play.receive(beat()).expect(WorkerReady(1))
        play.perform(t.start_order())
        steps = play.take()
        assert ReportCapacity(0) in steps
        play.receive(no(said(steps)[0]["id"], -32603))
        assert ReportCapacity(1) in play.take()


def test_a_run_that_is_refused_here_leaves_its_room() -> None:
    with t.play_control_plane() as play:
        play.opened(t.OPENING)
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


# --- opening


def test_what_a_run_opens_with() -> None:
    with t.ready(t.play_control_plane(environment_profile="ci", model="m")) as play:
        play.perform(t.start_order())
        assert params(play.take(), "run.open") == {
            "runId": t.wire_id(),
            "conversationId": f"conversation_{t.wire_id()}",
            "agent": {
                "provider": "",
                "model": "m",
                "environmentProfile": "ci",
                "invokedBy": "main",
            },
            "clientCapabilities": {"interactiveUI": False, "persistentSurfaces": False},
            "reservedToolNames": ["get_goal", "update_goal", "read_conversation"],
        }


def test_an_rpc_error_is_a_failed_run_and_nothing_is_closed() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(no(opening["id"], -32003, "busy"))
        steps = play.take()
        assert said(steps) == []
        assert outcome(steps).reason is Reason.FAILED_TO_START


CLOSED = [
    (lambda id: yes(id), RunState.FAILED),
    (lambda id: no(id, -32002, "gone", "run_not_active"), RunState.FAILED),
    (lambda id: no(id, -32002), RunState.FAILED),
    (lambda id: no(id, -32002, "x", "runner_not_found"), RunState.LOST),
    (lambda id: no(id, -32603), RunState.LOST),
]


@pytest.mark.parametrize(("answer", "state"), CLOSED)
@pytest.mark.parametrize("result", [None, [], {"generation": "1"}, {"digest": "sha256:0"}])
def test_case_43_an_ambiguous_open_is_closed(result: Any, answer: Any, state: RunState) -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(yes(opening["id"], result))
        (closing,) = said(play.take())
        assert closing["method"] == "run.close"
        play.receive(answer(closing["id"]))
        ended = outcome(play.take())
        assert ended.state is state
        assert ("cleanup was not confirmed" in ended.message) == (state is RunState.LOST)
        t.running(play, "gui/r2")


def test_case_59_a_context_file_with_a_wrong_digest() -> None:
    files = [{"path": "AGENTS.md", "content": "runner instructions", "digest": "sha256:wrong"}]
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(yes(opening["id"], t.manifest(contextFiles=files)))
        (closing,) = said(play.take())
        play.receive(yes(closing["id"]))
        ended = outcome(play.take())
        assert ended.state is RunState.FAILED
        assert "AGENTS.md does not match" in ended.message


# --- working


def test_a_tool_is_called_answered_and_the_run_closed() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(yes(opening["id"], t.manifest()))
        steps = play.take()
        assert events(steps) == [RunStarted()]
        assert params(steps, "tool.execute") == {
            "runId": t.wire_id(),
            "toolCallId": "call_1",
            "name": "bash",
            "input": {"command": "ls"},
            "wantUpdates": True,
        }
        play.receive(yes("server:2", t.executed("<result>\nhello\n</result>\n")))
        steps = play.take()
        assert events(steps) == [e.TextProduced("hello")]
        (closing,) = said(steps)
        play.receive(yes(closing["id"]))
        ended = outcome(play.take())
        assert (ended.state, ended.text) == (RunState.SUCCEEDED, "hello")


def test_case_57_updates_are_wanted_only_where_they_are_offered() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(yes(opening["id"], t.manifest(capabilities={"toolUpdates": False})))
        assert "wantUpdates" not in params(play.take(), "tool.execute")
        play.receive(tell("tool.update", update(1))).expect()


def update(sequence: int, text: str = "x", **members: Any) -> Any:
    return {
        "runId": t.wire_id(),
        "requestId": "server:2",
        "toolCallId": "call_1",
        "sequence": sequence,
        "result": {"assistantFacing": "", "displayOutput": text, "structured": {}},
        **members,
    }


def test_updates_are_snapshots_and_what_is_not_news_is_dropped() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        for said_, news in (
            (update(3, "a"), "a"),
            (update(2, "ab"), ""),
            (update(3, "ab"), ""),
            (update(4, "abc", requestId="server:1"), ""),
            (update(4, "abc", toolCallId="other"), ""),
            (update(4, "abc", runId="other"), ""),
            (update(9, "abc"), "bc"),
            (update(10, "abc"), ""),
            (update(11, "50 %"), "\n50 %"),
        ):
            play.receive(tell("tool.update", said_))
            assert events(play.take()) == ([e.TextProduced(news)] if news else [])


def test_a_forged_request_id_changes_nothing() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.receive(yes("server:99", t.executed())).expect()
        play.receive(yes("runner:1", t.executed())).expect()


def test_a_shell_command_is_the_tool_bash_and_its_output_output() -> None:
    spec = RunSpec(ShellCommand(argv=("echo", "a b")))
    metadata = {"command": "x", "exitCode": 3, "output": "é\n", "executionTime": 1}
    structured = {"toolName": "bash", "success": False, "metadataType": "bash"}
    result = t.executed(error="exit 3", structured={**structured, "metadata": metadata})
    with t.ready(t.play_control_plane()) as play:
        id = t.running(play, spec=spec)
        play.receive(yes(id, result))
        steps = play.take()
        assert events(steps) == [e.OutputProduced(e.Stream.STDOUT, "é\n".encode())]
        play.receive(yes(said(steps)[0]["id"]))
        ended = outcome(play.take())
        assert (ended.state, ended.exit_code) == (RunState.FAILED, 3)
        assert ended.reason is Reason.EXITED


def test_an_rpc_error_of_a_tool_is_definite_and_what_cannot_be_read_is_not() -> None:
    for answer, state in (
        (lambda id: no(id, -32000, "big", "result_too_large"), RunState.FAILED),
        (lambda id: yes(id, {"result": {"structured": {"timestamp": ""}}}), RunState.LOST),
    ):
        with t.ready(t.play_control_plane()) as play:
            id = t.running(play)
            play.receive(answer(id))
            (closing,) = said(play.take())
            play.receive(yes(closing["id"]))
            assert outcome(play.take()).state is state


def test_a_slash_command_is_executed() -> None:
    spec = RunSpec(ToolCall("command.execute", {"message": "/hello x"}))
    with t.ready(t.play_control_plane()) as play:
        id = t.running(play, spec=spec)
        play.receive(yes(id, {"matched": True, "action": "respond", "response": "hi"}))
        (closing,) = said(play.take())
        play.receive(yes(closing["id"]))
        assert outcome(play.take()).text == "hi"


def test_a_prompt_names_the_setting_that_would_help() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order(spec=RunSpec(Prompt("fix it"))))
        assert "adapt = " in outcome(play.take()).message


def test_environment_errors_fail_a_run_that_is_then_closed() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        broken = {"runId": t.wire_id(), "message": "surface broke"}
        play.receive(tell("run.environmentError", broken))
        cancel, closing = said(play.take())
        assert (cancel["method"], closing["method"]) == ("operation.cancel", "run.close")
        play.receive(yes(closing["id"]))
        ended = outcome(play.take())
        assert (ended.state, ended.message) == (RunState.FAILED, "surface broke")
        play.receive(tell("run.environmentError", broken)).expect()


def test_environment_errors_while_opening_wait_for_the_manifest() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(tell("run.environmentError", {"runId": t.wire_id(), "message": "m"})).expect()
        play.receive(yes(opening["id"], t.manifest()))
        (closing,) = said(play.take())
        play.receive(yes(closing["id"]))
        assert outcome(play.take()).message == "m"


# --- cancelling


def test_case_47_a_cancelled_run_is_held_until_it_is_closed() -> None:
    with t.ready(t.play_control_plane()) as play:
        id = t.running(play)
        play.perform(CANCEL)
        steps = play.take()
        assert rest(steps)[0] == Settle(RUN, OrderNumber(1))
        stop, cancel = said(steps)
        assert stop == {"method": "operation.cancel", "params": {"requestId": id}}
        assert cancel["params"] == {"runId": t.wire_id(), "reason": "context canceled"}
        play.receive(yes(id, t.executed())).expect()
        play.receive(yes(cancel["id"]))
        (closing,) = said(play.take())
        assert closing["method"] == "run.close"
        play.receive(yes(closing["id"]))
        assert outcome(play.take()) == Outcome(RunState.CANCELED, Reason.CANCELED)


def test_w_15_7_an_open_that_is_abandoned_is_closed() -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.perform(CANCEL)
        stop, closing = said(play.take())
        assert stop["params"] == {"requestId": opening["id"]}
        assert closing["method"] == "run.close"
        play.receive(yes(closing["id"]))
        assert outcome(play.take()).state is RunState.CANCELED
        play.receive(no(opening["id"], -32000, "context canceled")).expect()


def test_a_runner_that_confirms_nothing_has_ten_seconds() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.perform(CANCEL).take()
        play.tick()
        steps = play.take()
        assert outcome(steps).state is RunState.LOST
        assert outcome(steps).message.endswith("confirmed: context deadline exceeded")


def test_a_result_stays_true_where_the_close_is_not_confirmed() -> None:
    with t.ready(t.play_control_plane()) as play:
        id = t.running(play)
        play.receive(yes(id, t.executed()))
        (closing,) = said(play.take())
        play.receive(no(closing["id"], -32603, "no"))
        steps = play.take()
        assert outcome(steps).state is RunState.SUCCEEDED
        assert e.Diagnosed("runner cleanup was not confirmed: no", "cleanup") in events(steps)


def test_a_second_cancel_and_one_of_a_run_that_is_gone_change_nothing() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.perform(CANCEL).take()
        again = t.order("gui/r1", 2, c.CancelRun(RUN))
        play.perform(again).expect(Settle(RUN, OrderNumber(2)))
        other = t.order("gui/other", 1, c.CancelRun(RunId("gui/other")))
        play.perform(other).expect(Settle(RunId("gui/other"), OrderNumber(1)))


@pytest.mark.parametrize(
    "command", [c.SendInput(RUN, b"x"), c.CloseInput(RUN), c.ResizeTerminal(RUN, 1, 1)]
)
def test_orders_that_a_runner_has_no_word_for(command: Any) -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.perform(Order(RUN, OrderNumber(1), command))
        (settled,) = play.take()
        assert isinstance(settled.error, UnsupportedInput)


# --- the UI


ASKING = RunSpec(ToolCall("bash", {"command": "ls"}), approvals=True)


def ui(wire: str, method: str, run: str = "", **request: Any) -> bytes:
    owner = {"extensionId": "ext", "generation": 2}
    return ask(wire, method, {"runId": run or t.wire_id(), "owner": owner, "request": request})


def one(play: Playbook) -> Any:
    (message,) = said(play.take())
    return message


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (ask("u", "ui.input", {"runId": " "}), -32602),
        (ask("u", "ui.input", {"runId": 1}), -32602),
        (ui("u", "ui.input", "other"), -32002),
        (ui("u", "ui.widget.set", "other"), -32002),
    ],
)
def test_case_65_errors(frame: bytes, code: int) -> None:
    with t.ready(t.play_control_plane()) as play:
        play.receive(frame)
        error = one(play)["error"]
        assert error["code"] == code
        assert "data" not in error


def test_case_65_surfaces_are_never_taken() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.receive(ui("u", "ui.widget.set", id="w"))
        assert one(play)["result"] == {
            "accepted": False,
            "latestSequence": 0,
            "reason": "web ui persistent extension surfaces are not available",
        }
        play.receive(ui("v", "ui.transcript.append", message="m"))
        assert one(play)["result"] == {
            "accepted": False,
            "reason": "web ui extension transcript proxy is not available",
        }


def test_case_65_nobody_is_there() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play)
        play.receive(ui("u", "ui.confirm", title="?"))
        assert one(play)["result"] == {
            "status": "unavailable",
            "reason": "web ui confirmation is not available",
        }


@pytest.mark.parametrize(
    ("method", "decision", "value", "result"),
    [
        ("ui.input", e.Decision.VALUE, "Bob", {"status": "submitted", "value": "Bob"}),
        ("ui.input", e.Decision.DENY, None, {"status": "dismissed"}),
        ("ui.confirm", e.Decision.ALLOW_ONCE, None, {"status": "submitted", "confirmed": True}),
        ("ui.confirm", e.Decision.DENY, None, {"status": "submitted"}),
        ("ui.select", e.Decision.VALUE, "b", {"status": "submitted", "value": "b"}),
    ],
)
def test_w_15_8_a_question_is_an_approval(
    method: str, decision: e.Decision, value: str | None, result: Any
) -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play, spec=ASKING)
        play.receive(ui("runner:2", method, id="q1", title="Name?"))
        (requested,) = events(play.take())
        assert isinstance(requested, e.ApprovalRequested)
        assert (requested.approval, requested.title) == ("q1", "Name?")
        play.perform(t.order("gui/r1", 1, c.ResolveApproval(RUN, "q1", decision, value)))
        assert one(play) == {"id": "runner:2", "result": result}


def test_case_65_a_question_is_cancelled_or_dismissed_by_another() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play, spec=ASKING)
        play.receive(ui("runner:2", "ui.input", id="q", title="?")).take()
        play.receive(ui("runner:3", "ui.input", id="q", title="?"))
        assert one(play) == {"id": "runner:2", "result": {"status": "dismissed"}}
        play.receive(tell("operation.cancel", {"requestId": "runner:3"}))
        steps = play.take()
        assert said(steps)[0]["error"] == {"code": -32000, "message": "context canceled"}
        assert events(steps) == [e.ApprovalResolved("q", e.Decision.DENY)]
        play.receive(tell("operation.cancel", {"requestId": "runner:3"})).expect()


def test_case_65_a_notice_is_submitted_at_once() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play, spec=ASKING)
        play.receive(ui("u", "ui.notify", message="done"))
        steps = play.take()
        assert said(steps) == [{"id": "u", "result": {"status": "submitted"}}]
        assert events(steps) == [e.Diagnosed("done", "ui_notify")]


def test_opening_without_a_link_name_is_possible() -> None:
    with t.play_control_plane() as play:
        play.opened(Opening(link="x")).expect()
