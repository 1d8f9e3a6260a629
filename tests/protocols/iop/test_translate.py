"""Requests between wire and core."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest
from hypothesis import given

from fleetgate.core import commands as c
from fleetgate.core.ids import RunId, SessionId
from fleetgate.core.testing import specs
from fleetgate.protocols.iop import codec
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.errors import Refused
from fleetgate.protocols.iop.testing import messages
from fleetgate.protocols.iop.translate import Defaults, from_spec, to_spec, wire_id

DEFAULTS = Defaults("cli", "")
SECOND = 1_000_000_000


def spec_of(**members: Any) -> c.RunSpec:
    return to_spec(w.RunRequest("r", **members))


def input_of(given: Any, policy: Any = None) -> c.Input:
    return spec_of(input=given, policy=policy).input


@given(messages(w.RunRequest))
def test_a_request_is_understood_or_refused_and_comes_out_as_it_was(request: w.RunRequest) -> None:
    try:
        spec = to_spec(request)
        out = from_spec("r", spec, DEFAULTS)
    except Refused:
        return
    kept = attrs.evolve(
        request, run_id="r", adapter=request.adapter or "cli", metadata=dict(request.metadata)
    )
    assert attrs.evolve(out, input=None, policy=None) == attrs.evolve(kept, input=None, policy=None)
    assert to_spec(out).input == spec.input
    for name, value in (request.input or {}).items():
        if name not in ("prompt", "system", "messages", "command", "tool", "arguments"):
            assert (out.input or {})[name] == value


@given(specs())
def test_any_run_becomes_a_request_that_can_be_written_or_is_refused(spec: c.RunSpec) -> None:
    try:
        request = from_spec("r", spec, DEFAULTS)
    except Refused:
        return
    again = codec.decode_edge(codec.encode_edge(request))
    assert isinstance(again, w.RunRequest)
    assert again.timeout_sec >= 0


EXACT = {
    "prompt": {"prompt": "hi", "system": "be kind", "extra": [1, {"a": None}]},
    "command": {"command": "ls -l", "prompt": "not this"},
    "argv": {"command": ["ls", "-l"]},
    "tool": {"tool": "grep", "arguments": {"q": "x"}},
    "messages": {"messages": [{"role": "user", "content": "a", "name": "bob"}]},
    "none": {},
}


@pytest.mark.parametrize("given_", EXACT.values(), ids=EXACT.keys())
def test_between_two_edges_input_and_policy_are_not_touched(given_: Any) -> None:
    policy = {"effort": "high", "permission": "edit", "own": 5}
    request = w.RunRequest("r", "cli", "t", "/w", policy, given_, 7, {"m": "n"}, "s", 1, True)
    assert from_spec("r", to_spec(request), DEFAULTS) == request


@pytest.mark.parametrize(
    ("given_", "became"),
    [
        ({"prompt": "hi"}, c.Prompt("hi")),
        ({}, c.Prompt("")),
        ({"prompt": "hi", "system": "s"}, c.Prompt("hi", system="s")),
        ({"command": "ls", "tool": "t", "prompt": "p"}, c.ShellCommand(line="ls")),
        ({"command": ["a", "b"]}, c.ShellCommand(argv=("a", "b"))),
        ({"tool": "t", "arguments": [1], "messages": []}, c.ToolCall("t", [1])),
        ({"tool": "t"}, c.ToolCall("t")),
        ({"messages": [], "prompt": "p"}, c.Prompt("")),
        (
            {
                "messages": [
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "b"},
                    {"role": "user", "content": "c"},
                ]
            },
            c.Prompt(
                "c",
                messages=(
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "b"},
                ),
            ),
        ),
        (
            {"messages": [{"role": "assistant", "content": "b"}]},
            c.Prompt("", messages=({"role": "assistant", "content": "b"},)),
        ),
    ],
)
def test_the_first_of_command_tool_messages_prompt_counts(given_: Any, became: c.Input) -> None:
    assert input_of(given_) == became


@pytest.mark.parametrize(
    "given_",
    [
        {"prompt": 5},
        {"system": 5},
        {"command": 5},
        {"command": ""},
        {"command": []},
        {"command": ["a", 5]},
        {"tool": 5},
        {"messages": 5},
        {"messages": "text"},
        {"messages": ["text"]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"deep": {"in": [math.nan]}},
        {"x": math.inf},
    ],
)
def test_input_of_the_wrong_type_is_refused(given_: Any) -> None:
    with pytest.raises(Refused, match="invalid_argument"):
        input_of(given_)


@pytest.mark.parametrize("policy", [{"permission": 1}, {"approvals": "yes"}, {"effort": True}])
def test_policy_of_the_wrong_type_is_refused(policy: Any) -> None:
    with pytest.raises(Refused, match="invalid_argument"):
        spec_of(policy=policy)


def test_policy_is_read_and_the_rest_of_it_kept() -> None:
    policy = {"permission": "edit", "approvals": True, "interactive": True, "effort": "low"}
    spec = spec_of(policy={**policy, "own": 1}, input={"prompt": "x"})
    assert (spec.permission, spec.approvals, spec.interactive) == ("edit", True, True)
    assert isinstance(spec.input, c.Prompt)
    assert spec.input.effort == "low"
    changed = attrs.evolve(spec, permission="plan", approvals=False)
    out = from_spec("r", changed, DEFAULTS).policy
    assert out == {"own": 1, "permission": "plan", "interactive": True, "effort": "low"}
    command = spec_of(policy=policy, input={"command": "ls"})
    assert from_spec("r", command, DEFAULTS).policy == policy


def test_a_policy_that_was_never_read_is_made_anew() -> None:
    spec = c.RunSpec(c.Prompt("x"), permission="edit", native={"iop": {"policy": {"effort": 5}}})
    assert from_spec("r", spec, DEFAULTS).policy == {"permission": "edit"}


def test_the_rest_of_a_request() -> None:
    spec = spec_of(
        adapter="cli",
        target="t",
        workspace="/w",
        timeout_sec=3,
        metadata={"a": "b", "gateway.node": "n7"},
        session_id="s",
        background=True,
    )
    assert spec.labels == {"adapter": "cli", "target": "t"}
    assert (spec.workspace, spec.timeout, spec.background) == (("/w",), 3 * SECOND, True)
    assert (spec.session, spec.metadata["a"]) == ("s", "b")
    assert spec_of(timeout_sec=0).timeout is None
    placed = to_spec(w.RunRequest("r", metadata={"gateway.node": "n7"}), placed=True)
    assert placed.labels == {"gateway.node": "n7"}


def test_a_profile_is_kept_for_whoever_executes() -> None:
    spec = to_spec(w.RunRequest("r"), profile={"adapter": "cli"})
    assert spec.native["profile"] == {"adapter": "cli"}
    assert "profile" not in spec_of().native


def test_a_run_from_elsewhere() -> None:
    prompt = c.Prompt("hi", system="s", model="big", effort="high", messages=({"role": "x"},))
    spec = c.RunSpec(
        prompt,
        workspace=("/a", "/b"),
        timeout=SECOND + 1,
        permission="edit",
        resume="old",
        metadata={"a": "b", "n": 5},
    )
    assert from_spec("r", spec, DEFAULTS) == w.RunRequest(
        "r",
        "cli",
        "big",
        "/a",
        {"permission": "edit", "effort": "high"},
        {"system": "s", "messages": [{"role": "x"}, {"role": "user", "content": "hi"}]},
        2,
        {
            "a": "b",
            "n": "5",
            "gateway.workspaces": '["/a","/b"]',
            "gateway.body": '{"input":{"model":"big"},"timeout":1000000001}',
        },
        "old",
    )


def test_a_command_from_elsewhere() -> None:
    command = c.ShellCommand(argv=("ls",), cwd="/x")
    spec = c.RunSpec(command, environment={"A": "b"}, session=SessionId("s"), resume="t")
    request = from_spec("r", spec, Defaults("sh", "main"))
    assert request.input == {"command": ["ls"], "cwd": "/x", "environment": {"A": "b"}}
    assert (request.adapter, request.target) == ("sh", "main")
    assert (request.session_id, request.session_mode) == ("s", 0)


def script(data: bytes, shell: str = "") -> c.RunSpec:
    given = c.Script(len(data), b"", ("x", "y"), data)
    return c.RunSpec(c.ShellCommand(script=given, shell=shell))


def test_a_script_is_given_to_a_shell() -> None:
    sent = from_spec("r", script(b"echo $1", "bash"), DEFAULTS).input
    assert sent == {"command": ["bash", "-c", "echo $1", "bash", "x", "y"]}
    assert from_spec("r", script(b"", "none"), DEFAULTS).input == {
        "command": ["sh", "-c", "", "sh", "x", "y"]
    }
    with pytest.raises(Refused, match="unsupported_input: the script is no UTF-8"):
        from_spec("r", script(b"\xff"), DEFAULTS)


@pytest.mark.limit("protocols/iop/translate.DEPTH")
def test_what_a_node_could_not_read_is_refused() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    with pytest.raises(Refused, match="more than 24 levels"):
        from_spec("r", c.RunSpec(c.ToolCall("t", deep)), DEFAULTS)
    with pytest.raises(Refused, match="session_id"):
        from_spec("r", c.RunSpec(c.Prompt("x"), resume="s" * 300), DEFAULTS)


def test_an_id_is_the_runs_own_as_long_as_it_fits() -> None:
    assert wire_id(RunId("a/b")) == "a/b"
    long = RunId("a/" + "ü" * 200)
    assert wire_id(long) == wire_id(long)
    assert len(wire_id(long)) == 71
    assert wire_id(RunId("a/\udc80")) == "a/\udc80"


def test_a_session_mode_that_is_no_number_is_none() -> None:
    spec = c.RunSpec(c.Prompt("x"), native={"iop": {"session_mode": "x"}})
    assert from_spec("r", spec, DEFAULTS).session_mode == 0
