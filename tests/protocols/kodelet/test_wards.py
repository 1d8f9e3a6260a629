"""The runs at one runner, apart from the connection."""

from typing import Any

import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.commands import Order, Prompt, RunSpec, ShellCommand, StartRun, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.events import Outcome, Reason, RunFinished, RunStarted, RunState
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.protocols.api import (
    Record,
    Settle,
)
from fleetgate.protocols.deadlines import Deadlines
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.leases import Leases
from fleetgate.protocols.kodelet.liveness import Liveness
from fleetgate.protocols.kodelet.peer import Peer
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.testing import no, rest, said, tell, yes
from fleetgate.protocols.kodelet.wards import Wards
from fleetgate.protocols.testing import START

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
        steps = play.take()
        assert events(steps) == [e.TextProduced("hi")]  # who follows a run reads events
        (closing,) = said(steps)
        play.receive(yes(closing["id"]))
        assert outcome(play.take()).text == "hi"


LONG = "é" * 100_000


def test_a_runner_s_texts_are_kept_as_far_as_an_event_holds() -> None:
    failing = {"result": {"error": LONG, "structured": {"toolName": "bash"}}}
    for opened, answer, closed in (
        (lambda id: no(id, -32603, LONG), None, None),
        (lambda id: yes(id, t.manifest(tools=[{"name": "x", "placement": LONG}])), None, yes),
        (lambda id: yes(id, t.manifest()), lambda id: yes(id, failing), yes),
        (
            lambda id: yes(id, t.manifest()),
            lambda id: yes(id, failing),
            lambda id: no(id, -32603, LONG),
        ),
    ):
        with t.ready(t.play_control_plane()) as play:
            play.perform(t.start_order())
            (opening,) = said(play.take())
            play.receive(opened(opening["id"]))
            steps = [*play.take()]
            for reply in (answer, closed):
                if reply is not None:
                    play.receive(reply(said(steps)[-1]["id"]))
                    steps = [*play.take()]
            for event in events(steps):
                words = event.outcome.message if isinstance(event, RunFinished) else event.message
                assert len(words.encode()) <= e.MAX_BODY


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


FORGED = ["server:1", "server:2", "server:99", "runner:1", "\ufffd", "x" * 70_000]


@pytest.mark.parametrize("id", FORGED)
def test_answers_and_updates_under_forged_ids_change_nothing(id: str) -> None:
    """`server:1` was the open, and is answered; the rest were never asked, or never of this run."""
    with t.ready(t.play_control_plane()) as play:
        under_way = t.running(play)
        if id != under_way:
            play.receive(yes(id, t.executed("forged"))).expect()
            play.receive(no(id, -32000)).expect()
        play.receive(tell("operation.cancel", {"requestId": id})).expect()
        forged = update(1, "x", requestId=id if id != under_way else "server:3")
        play.receive(tell("tool.update", forged)).expect()
        play.receive(yes(under_way, t.executed("true")))
        assert e.TextProduced("true") in events(play.take())


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


def test_a_message_that_does_not_fit_is_never_sent() -> None:
    spec = RunSpec(ToolCall("x"), native={"kodelet": {"conversationId": "c" * (5 << 20)}})
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order(spec=spec))
        steps = play.take()
        assert said(steps) == []
        assert "exceeding the 4194304-byte outbound limit" in outcome(steps).message


def test_a_call_that_does_not_fit_ends_the_run() -> None:
    with t.ready(t.play_control_plane()) as play:
        spec = RunSpec(ToolCall("x", {"text": "c" * (5 << 20)}))
        play.perform(t.start_order(spec=spec))
        (opening,) = said(play.take())
        play.receive(yes(opening["id"], t.manifest()))
        (closing,) = said(play.take())
        play.receive(yes(closing["id"]))
        assert outcome(play.take()).reason is Reason.REFUSED


def test_runs_are_found_by_both_of_their_names() -> None:
    settings = ControlPlaneSettings()
    peer = Peer("server", settings)
    leases = Leases(peer, settings, Deadlines())
    leases.alive, leases.concurrent = Liveness(t.RUNNER, 1, START, ready=True), True
    made = Wards(peer, settings, leases)
    made.instance = t.INSTANCE
    order = t.start_order()
    assert isinstance(order.command, StartRun)
    assert made.start(order, order.command.spec) == ()
    ward = made.get(t.wire_id())
    assert ward is not None
    assert made.of(RUN) is ward
    assert made.of(RunId("other")) is made.get("other") is None
    assert made.all() == (ward,)
    assert len(made) == 1
    made.forget()
    assert len(made) == 0
