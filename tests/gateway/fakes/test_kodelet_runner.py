"""`gateway fake kodelet-runner`, and its tools, seen by a control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetgate.gateway.fakes.kodelet_runner import make, make_parser, takes
from fleetgate.gateway.fakes.options import BadOption
from fleetgate.gateway.fakes.tools import OFFERED, QUESTION
from fleetgate.protocols.kodelet.wire import RunOpen

SLASH = {"tool": "command.execute", "arguments": {"message": "/hello you"}}


def test_help_names_its_tools_and_no_table_of_the_settings() -> None:
    text = make_parser().format_help()
    assert all(name in text for name in OFFERED)
    squeezed = "".join(text.split())
    assert "cleanup_timeout=" in squeezed
    assert "tools=" not in squeezed


def test_only_conversations_that_say_so_take_long_to_open() -> None:
    assert [takes(RunOpen("r", conversation)) for conversation in ("slowopen-7", "c", "")] == [
        2.0,
        0.0,
        0.0,
    ]


def test_a_workspace_is_a_directory_that_is_there(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    words = ["--server", "http://127.0.0.1:1", "--workspace", "/dev/null/x", "--state", state]
    with pytest.raises(BadOption, match="--workspace: expected a directory that is there"):
        make(make_parser().parse_args(words))


@pytest.fixture
def plane(fakes: Callable[..., Any], tmp_path: Path) -> Iterator[Any]:
    """A control plane with its runner there."""
    plane = fakes("kodelet-control-plane", "--listen", "127.0.0.1:0", "--token", "t")
    url = plane.until(event="ready")["address"]
    base = url.replace("ws://", "http://").removesuffix("/api/runner/v1/connect")
    where = ("--workspace", str(tmp_path), "--state", str(tmp_path / "state"))
    fakes("kodelet-runner", "--server", base, "--token", "t", *where)
    plane.until(event="worker", state="ready")
    return plane


SCRIPT = """
[[when]]
match = "^deploy$"
do = [{ text = "it is there" }]
[[when]]
match = "^echo"
do = [{ fail = "not today" }]
[[when]]
match = "^ls -l"
do = [{ text = "nothing" }]
"""


def test_a_script_plays_the_tools_that_its_rules_name(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    plane = fakes("kodelet-control-plane", "--listen", "127.0.0.1:0")
    url = plane.until(event="ready")["address"]
    where = ("--workspace", str(tmp_path), "--state", str(tmp_path / "state"))
    fakes("kodelet-runner", "--server", url, *where, "--script", str(script))
    runner = plane.until(event="worker", state="ready")["worker"]
    plane.tell(op="open", id="1", runner=runner, run="x", conv="c")
    offered = [tool["name"] for tool in plane.until(id="1")["manifest"]["tools"]]
    assert sorted(offered) == sorted([*OFFERED, "bash", "deploy"])
    for name, given in (
        ("deploy", {"tool": "deploy"}),
        ("echo", {"tool": "echo"}),
        ("bash", {"tool": "bash", "arguments": {"command": "ls -l"}}),
    ):
        plane.tell(op="start", id=f"start {name}", run=name, input=given)
    assert ended(plane, "deploy")["text"] == "it is there"
    assert ended(plane, "echo")["message"] == "not today"
    assert ended(plane, "bash")["text"] == "nothing"


def ended(plane: Any, name: str) -> dict[str, Any]:
    plane.tell(op="wait", id=f"wait {name}", run=name)
    return plane.until(id=f"wait {name}")["outcome"]


def test_each_tool_ends_as_it_should(plane: Any) -> None:
    for name, given in (
        ("echo", {"tool": "echo", "arguments": {"a": 1}}),
        ("stream", {"tool": "stream"}),
        ("big", {"tool": "big"}),
        ("slash", SLASH),
        ("unknown", {"tool": "command.execute", "arguments": {"message": "/nothing"}}),
    ):
        plane.tell(op="start", id=f"start {name}", run=name, input=given)
    assert ended(plane, "echo")["text"] == '{"a": 1}'
    assert ended(plane, "stream")["text"] == "update 1\nupdate 2\nupdate 3\n"
    assert "result_too_large" in ended(plane, "big")["message"]
    assert ended(plane, "slash")["text"] == "hello, you"
    assert ended(plane, "unknown")["state"] == "failed"


def test_a_tool_that_asks_returns_the_answer(plane: Any) -> None:
    plane.tell(op="start", id="1", run="a", input={"tool": "ask"}, interactive=True)
    plane.tell(op="follow", id="2", run="a")
    asked = plane.until(type="ApprovalRequested")
    assert asked["title"] == QUESTION
    answer = {"approval": asked["approval"], "decision": "value", "value": "blue"}
    plane.tell(op="approve", id="3", run="a", **answer)
    assert ended(plane, "a")["text"] == "blue"


def test_a_tool_sleeps_until_it_is_cancelled(plane: Any) -> None:
    plane.tell(op="start", id="1", run="a", input={"tool": "sleep"})
    plane.tell(op="follow", id="2", run="a")
    plane.until(type="RunStarted")
    plane.tell(op="cancel", id="3", run="a")
    assert ended(plane, "a")["state"] == "canceled"
