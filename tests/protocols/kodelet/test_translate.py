"""Requests between wire and core."""

from typing import Any

import pytest

from fleetgate.core.commands import Prompt, RunSpec, Script, ShellCommand, ToolCall
from fleetgate.core.errors import UnsupportedInput
from fleetgate.core.ids import SessionId
from fleetgate.protocols.kodelet import wire
from fleetgate.protocols.kodelet.settings import BASH, RunnerSettings, ToolSettings
from fleetgate.protocols.kodelet.translate import (
    CallTool,
    SayCommand,
    conversation_of,
    from_spec,
    to_spec,
    to_worker,
)


@pytest.mark.parametrize(
    ("spec", "ask"),
    [
        (RunSpec(ToolCall("t", [1])), CallTool("t", [1])),
        (RunSpec(ToolCall("t")), CallTool("t", {})),
        (RunSpec(ToolCall("command.execute", {"message": "/x"})), SayCommand("/x")),
    ],
)
def test_tools_and_commands(spec: RunSpec, ask: Any) -> None:
    assert from_spec(spec, "bash") == ask


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (ShellCommand(line="a; b"), "a; b"),
        (ShellCommand(argv=("echo", "a b", "$x")), "echo 'a b' '$x'"),
        (ShellCommand(line="a", shell="zsh"), "zsh -c a"),
        (ShellCommand(line="a; b", cwd="/my dir"), "cd '/my dir' || exit\na; b"),
    ],
)
def test_shell_commands(command: ShellCommand, line: str) -> None:
    asked = from_spec(RunSpec(command), "sh")
    assert asked == CallTool("sh", {"command": line, "description": "Run a command"})


def test_environment_workspace_and_timeout_of_a_command() -> None:
    spec = RunSpec(
        ShellCommand(line="x"),
        workspace=("/w",),
        environment={"A": "b c"},
        timeout=1_500_000_000,
    )
    asked = from_spec(spec, "bash")
    assert isinstance(asked, CallTool)
    assert asked.input == {
        "command": "export A='b c'\ncd /w || exit\nx",
        "description": "Run a command",
        "timeout": 2,
    }


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Prompt("x"), "adapt = "),
        (ToolCall("command.execute", {"message": "no slash"}), "begins with a slash"),
        (ToolCall("command.execute", "x"), "begins with a slash"),
        (ShellCommand(line="x", stdin=b"y"), "{stdin}"),
        (ShellCommand(script=Script(0, bytes(32))), "no uploaded script"),
        (ShellCommand(line="x", shell="pwsh"), "no pwsh"),
    ],
)
def test_what_a_runner_cannot_do_is_said_with_what_would_help(given: Any, text: str) -> None:
    with pytest.raises(UnsupportedInput) as caught:
        from_spec(RunSpec(given), "bash")
    assert text in caught.value.message


@pytest.mark.parametrize("name", ["A=1; reboot #", "A\nreboot", "a-b", "1A", "", "$(x)", "Ä"])
def test_a_name_in_the_environment_is_never_more_than_a_name(name: str) -> None:
    with pytest.raises(UnsupportedInput, match="no name that a shell can export"):
        from_spec(RunSpec(ShellCommand(line="x"), environment={name: "1"}), "bash")


def test_conversations() -> None:
    spec = RunSpec(ToolCall("t"), session=SessionId("s"))
    assert conversation_of(spec, "r") == "s"
    native = {"kodelet": {"conversationId": "c"}}
    assert conversation_of(RunSpec(ToolCall("t"), native=native), "r") == "c"
    for kept in ({}, {"kodelet": 1}, {"kodelet": {"conversationId": 1}}):
        assert conversation_of(RunSpec(ToolCall("t"), native=kept), "r") == "conversation_r"


def test_a_worker_has_no_grace_and_its_registration_as_detail() -> None:
    info = to_worker("pool", "runner_1", wire.Register((1,), "shown", manifest_digest="d"))
    assert (info.id, info.grace) == ("pool/runner_1", 0)
    assert isinstance(info.detail, dict)
    assert "runnerId" not in info.detail


@pytest.mark.limit("protocols/kodelet/translate._SHOWN")
def test_of_a_registration_only_short_texts_are_kept() -> None:
    host = wire.Host("h" * 9999, "n")
    info = to_worker(
        "pool", "runner_1", wire.Register((1,) * 9999, display_name="é" * 9999, host=host)
    )
    assert isinstance(info.detail, dict)
    assert info.detail["displayName"] == "é" * 512
    assert info.detail["host"] == {"instanceId": "h" * 1024, "hostname": "n", "os": "", "arch": ""}
    assert info.detail["protocolVersions"] == [1] * 1024


OPENED = wire.RunOpen("r1", "c1", wire.Agent("p", "m"))


def test_a_call_as_a_spec() -> None:
    given = {"command": "ls", "timeout": 5}
    spec = to_spec(BASH, given, OPENED, "t1", RunnerSettings(workspace="/w"))
    assert spec.input == ShellCommand(line="ls", cwd="/w")
    assert spec.timeout == 5_000_000_000
    assert spec.labels == {"conversation": "c1", "kodelet_tool": "bash"}
    assert spec.native["kodelet"] == {
        "runId": "r1",
        "conversationId": "c1",
        "toolCallId": "t1",
        "agent": {"provider": "p", "model": "m"},
    }


@pytest.mark.parametrize("timeout", [0, -1, 1.5, "5", True, 10**9, None])
def test_a_timeout_that_is_none(timeout: Any) -> None:
    tool = ToolSettings("x")
    spec = to_spec(tool, {"timeout": timeout}, OPENED, "t", RunnerSettings())
    assert spec.timeout is None
