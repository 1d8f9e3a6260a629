"""Bodies become commands, or a refusal that names the member."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.core import commands as c
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.events import Decision
from fleetgate.core.ids import RunId
from fleetgate.gateway.admin.bodies import read_command, read_drain, read_start

RUN = RunId("admin/r")


@pytest.mark.parametrize(
    ("verb", "body", "command"),
    [
        ("input", {"text": "ä", "newline": True}, c.SendInput(RUN, "ä".encode(), True)),
        ("input", {"data_base64": "/w=="}, c.SendInput(RUN, b"\xff")),
        ("close", {}, c.CloseInput(RUN)),
        ("signal", {"signal": "hangup"}, c.SignalRun(RUN, c.Signal.HANGUP)),
        ("cancel", {}, c.CancelRun(RUN)),
        (
            "cancel",
            {"scope": "session", "reason": "why"},
            c.CancelRun(RUN, c.CancelScope.SESSION, "why"),
        ),
        (
            "approve",
            {"approval": "a", "decision": "deny"},
            c.ResolveApproval(RUN, "a", Decision.DENY),
        ),
        (
            "approve",
            {"approval": "a", "decision": "value", "value": "x"},
            c.ResolveApproval(RUN, "a", Decision.VALUE, "x"),
        ),
    ],
)
def test_commands(verb: str, body: dict[str, Any], command: c.RunCommand) -> None:
    assert read_command(verb, RUN, body) == (None, command)
    assert read_command(verb, RUN, {**body, "key": "k"}) == ("k", command)


@pytest.mark.parametrize(
    ("verb", "body", "message"),
    [
        ("input", {}, "expected one of text and data_base64"),
        ("input", {"text": "a", "data_base64": ""}, "expected one of text and data_base64"),
        ("input", {"text": 1}, "text: expected a string, got a number"),
        ("input", {"text": "\ud800"}, "text: half a surrogate pair is no text"),
        ("close", {"x": 1}, "x: unknown key; none is known here"),
        ("signal", {}, "signal: is missing"),
        (
            "signal",
            {"signal": "stop"},
            "signal: expected one of interrupt, terminate, kill, hangup, got stop",
        ),
        ("cancel", {"scop": "run"}, "scop: unknown key; did you mean scope?"),
        (
            "approve",
            {"approval": "a", "decision": "value"},
            "value: goes with the decision value, and only with it",
        ),
        (
            "approve",
            {"approval": "a", "decision": "deny", "value": "x"},
            "value: goes with the decision value, and only with it",
        ),
        ("cancel", {"key": 3}, "key: expected 1 to 128 printable ASCII characters"),
        ("cancel", {"key": ""}, "key: expected 1 to 128 printable ASCII characters"),
    ],
)
def test_refusals(verb: str, body: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_command(verb, RUN, body)
    assert caught.value.message == message


def test_start() -> None:
    name, spec = read_start({"run": "mine", "input": {"prompt": "hi"}, "approvals": True})
    assert (name, spec) == ("mine", c.RunSpec(c.Prompt("hi"), approvals=True))
    assert read_start({"input": {"prompt": "hi"}})[0] is None


@pytest.mark.limit("gateway/admin/bodies.MAX_NAME")
@pytest.mark.parametrize("name", ["", "a b", "x" * 129, "ä", "a\n"])
def test_names_of_runs(name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_start({"run": name, "input": {"prompt": "hi"}})
    assert caught.value.message == "run: expected 1 to 128 printable ASCII characters"


def test_unknown_members_of_a_start() -> None:
    with pytest.raises(InvalidArgument, match="did you mean workspace"):
        read_start({"input": {"prompt": "hi"}, "workspce": []})


def test_drain() -> None:
    assert read_drain({}) is True
    assert read_drain({"on": False}) is False
