"""A run of the core is opened at a runner (cases 43, 59, and W 10.2)."""

from typing import Any

import pytest

from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.protocols.api import (
    Record,
)
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.testing import no, said, yes


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


SYSTEM = {"isGitRepo": False, "platform": "linux", "osVersion": "6", "date": "2026-08-12"}
TOOL = {"name": "t", "description": "", "placement": "environment"}
FAULTS: list[tuple[Any, str]] = [
    ({"protocolVersion": 2}, "uses protocol version 2"),
    ({"runnerId": "other"}, "identity does not match opened run"),
    ({"runId": "other"}, "identity does not match opened run"),
    ({"generation": 2}, "identity does not match opened run"),
    ({"tools": [{**TOOL, "name": " "}]}, "contains a tool without a name"),
    ({"tools": [{**TOOL, "name": "get_goal"}]}, "collides with a reserved control-plane tool"),
    ({"tools": [{**TOOL, "placement": "server"}]}, 'invalid placement "server"'),
    ({"tools": [TOOL, TOOL]}, "contains duplicate tool t"),
    ({"config": {"systemInformation": {**SYSTEM, "platform": " "}}}, "is missing its platform"),
    ({"config": {"systemInformation": {**SYSTEM, "osVersion": ""}}}, "is missing its OS version"),
    ({"config": {"systemInformation": {**SYSTEM, "date": "x"}}}, "has an invalid date"),
    ({"contextFiles": [{"path": " "}]}, "a context file without a path"),
    ({"contextFiles": [{"path": "a", "digest": "sha256:0"}]}, "does not match its digest"),
]


@pytest.mark.parametrize(("members", "text"), FAULTS)
def test_w_10_2_a_manifest_with_a_fault_costs_its_run_and_nothing_else(
    members: Any, text: str
) -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(yes(opening["id"], t.manifest(**members)))
        (closing,) = said(play.take())
        assert closing["method"] == "run.close"
        play.receive(yes(closing["id"]))
        ended = outcome(play.take())
        assert (ended.state, ended.reason) == (RunState.FAILED, Reason.FAILED_TO_START)
        assert text in ended.message
        t.running(play, "gui/r2")


@pytest.mark.parametrize("digest", ["", "sha256:0"])
def test_w_10_2_a_digest_that_is_missing_or_wrong(digest: str) -> None:
    with t.ready(t.play_control_plane()) as play:
        play.perform(t.start_order())
        (opening,) = said(play.take())
        play.receive(yes(opening["id"], {**t.manifest(), "digest": digest}))
        (closing,) = said(play.take())
        play.receive(yes(closing["id"]))
        assert "manifest digest" in outcome(play.take()).message


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
