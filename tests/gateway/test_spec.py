"""A run's spec out of JSON."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from fleetgate.core.commands import Input, Prompt, RunSpec, Script, ShellCommand, ToolCall
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.ids import SessionId
from fleetgate.gateway.spec import read_spec

_SHA = hashlib.sha256(b"echo").digest()


LONG = "timeout_ms: expected a number above 0, at most 1000000000000"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"prompt": "hi"}, Prompt("hi")),
        (
            {
                "prompt": "hi",
                "system": "s",
                "provider": "p",
                "model": "m",
                "effort": "high",
                "messages": [{"role": "user", "content": "x"}],
            },
            Prompt("hi", "s", "p", "m", "high", messages=({"role": "user", "content": "x"},)),
        ),
        (
            {"line": "ls", "shell": "bash", "cwd": "/srv", "stdin": "ä", "merge_stderr": True},
            ShellCommand(
                line="ls", shell="bash", cwd="/srv", stdin="ä".encode(), merge_stderr=True
            ),
        ),
        (
            {"argv": ["a", "b"], "stdin_base64": "/w=="},
            ShellCommand(argv=("a", "b"), stdin=b"\xff"),
        ),
        ({"script": "echo", "args": ["x"]}, ShellCommand(script=Script(4, _SHA, ("x",), b"echo"))),
        ({"tool": "bash", "arguments": {"a": [1]}}, ToolCall("bash", {"a": [1]})),
        ({"tool": "bash"}, ToolCall("bash")),
    ],
)
def test_inputs(value: dict[str, Any], expected: Input) -> None:
    assert read_spec({"input": value}) == RunSpec(expected)


def test_everything_else() -> None:
    spec = read_spec(
        {
            "input": {"argv": ["x"], "env": {"B": "c"}},
            "workspace": ["/w"],
            "environment": {"A": "b"},
            "timeout_ms": 1500,
            "permission": "edit",
            "approvals": True,
            "interactive": True,
            "background": True,
            "session": "s",
            "resume": "r",
            "labels": {"l": "m"},
            "metadata": {"k": [1, None]},
            "native": {"rvbox": {"queue_expiry_ms": 5}},
        }
    )
    assert spec == RunSpec(
        ShellCommand(argv=("x",)),
        workspace=("/w",),
        environment={"A": "b", "B": "c"},
        timeout=1_500_000_000,
        permission="edit",
        approvals=True,
        interactive=True,
        background=True,
        session=SessionId("s"),
        resume="r",
        labels={"l": "m"},
        metadata={"k": [1, None]},
        native={"rvbox": {"queue_expiry_ms": 5}},
    )


_CHOICE = "input: expected an object with one of prompt, line, argv, script, tool"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "the spec: expected an object, got an array"),
        ({}, "input: is missing"),
        ({"input": {}}, _CHOICE),
        ({"input": "hi"}, _CHOICE),
        ({"input": {"promt": "x"}}, f"{_CHOICE}; promt: unknown key; did you mean prompt?"),
        (
            {"input": {"line": "x", "argv": ["y"]}},
            "input: expected one of line, argv, script, got line, argv",
        ),
        ({"input": {"argv": []}}, "input.argv: expected at least a program"),
        ({"input": {"argv": ["x", 3]}}, "input.argv.1: expected a string, got a number"),
        ({"input": {"line": "x", "args": ["y"]}}, "input.args: go with script; put them into argv"),
        (
            {"input": {"line": "x", "stdin": "a", "stdin_base64": ""}},
            "input: expected one of stdin and stdin_base64, got both",
        ),
        ({"input": {"line": "x", "stdin_base64": "?"}}, "input.stdin_base64: is not base64"),
        (
            {"input": {"line": "x", "stdin": "\ud800"}},
            "input.stdin: half a surrogate pair is no text",
        ),
        ({"input": {"line": "x", "env": {"A": 1}}}, "input.env.A: expected a string, got a number"),
        ({"input": {"prompt": "x", "modle": "m"}}, "input.modle: unknown key; did you mean model?"),
        ({"input": {"prompt": "x"}, "timeout_ms": 0}, LONG),
        ({"input": {"prompt": "x"}, "timeout_ms": 10**12 + 1}, LONG),
        (
            {"input": {"prompt": "x"}, "timeout_ms": True},
            "timeout_ms: expected a whole number, got a boolean",
        ),
        (
            {"input": {"prompt": "x"}, "timeout": 5},
            "timeout: unknown key; did you mean timeout_ms?",
        ),
    ],
)
def test_refusals_name_the_member(value: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_spec(value)
    assert caught.value.message == message


def test_no_value_is_repeated() -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_spec({"input": {"line": ["hunter2"], "env": {"K": ["hunter2"]}}})
    assert "hunter2" not in caught.value.message
