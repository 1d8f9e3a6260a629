"""The UI proxy at a control plane (case 65)."""

import tracemalloc
from typing import Any

import pytest

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.commands import RunSpec, ToolCall
from fleetgate.core.events import Outcome, RunFinished
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import (
    Opening,
    Record,
    Wake,
)
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.testing import ask, said, tell
from fleetgate.protocols.testing import SECOND, Playbook

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
        (ui("u", "ui.widget.set", "other", frame={"sequence": "1"}), -32602),
        (ui("u", "ui.widget.set", " ", frame={"sequence": 1}), -32602),
        (ui("u", "ui.surface.open", "other", options={"width": "wide"}), -32602),
        (ui("u", "ui.transcript.append", "other", message=5), -32602),
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


def test_a_question_that_no_event_holds_is_answered_and_a_note_is_cut() -> None:
    with t.ready(t.play_control_plane()) as play:
        t.running(play, spec=ASKING)
        play.receive(ui("u", "ui.select", title="?", options=["o" * 99_999]))
        assert one(play)["result"]["status"] == "unavailable"
        play.receive(ui("v", "ui.notify", message="é" * 99_999))
        (note,) = events(play.take())
        assert isinstance(note, e.Diagnosed)
        assert len(note.message.encode()) == e.MAX_BODY


def test_of_a_question_that_is_open_only_its_default_is_kept() -> None:
    with t.ready(t.play_control_plane()) as play:
        call = t.running(play, spec=ASKING)
        tracemalloc.start()
        try:
            for n in range(8):
                play.receive(ui(f"u{n}", "ui.input", message="m" * 1_000_000, defaultValue="d"))
                (requested,) = events(play.take())
                assert isinstance(requested, e.ApprovalRequested)
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kept < 1_000_000
        play.perform(t.order("gui/r1", 1, c.ResolveApproval(RUN, "u3", e.Decision.VALUE)))
        assert one(play) == {"id": "u3", "result": {"status": "submitted", "value": "d"}}
        play.receive(t.yes(call, t.executed())).take()


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
        play.opened(Opening(link="x")).expect(Wake(play.now + 60 * SECOND))


@pytest.mark.parametrize("how", ["answered", "run ended"])
def test_case_11_a_question_that_waits_is_put_when_another_closes(how: str) -> None:
    with t.ready(t.play_control_plane(requests=1)) as play:
        call = t.running(play, spec=ASKING)
        play.receive(ui("runner:2", "ui.confirm", id="q1", title="First?")).take()
        play.receive(ui("runner:3", "ui.confirm", id="q2", title="Second?")).expect()
        if how == "answered":
            allow = c.ResolveApproval(RUN, "q1", e.Decision.ALLOW_ONCE)
            play.perform(t.order("gui/r1", 1, allow))
            (second,) = events(play.take())
            assert isinstance(second, e.ApprovalRequested)
            assert second.approval == "q2"
        else:
            play.receive(t.yes(call, t.executed()))
            (closing,) = said(play.take())
            play.receive(t.yes(closing["id"]))
            assert [each["id"] for each in said(play.take())] == ["runner:2", "runner:3"]
