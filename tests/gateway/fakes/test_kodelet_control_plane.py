"""`gateway fake kodelet-control-plane`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleetgate.gateway.fakes.cli import run
from fleetgate.gateway.fakes.kodelet_control_plane import NAME, make_parser
from fleetgate.gateway.fakes.tools import OFFERED
from fleetgate.protocols import kodelet


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    squeezed = "".join(make_parser().format_help().split())
    for name in kodelet.ADAPTER.southbound.settings.__annotations__:
        assert f"{name}=" in squeezed


def test_times_are_given_in_milliseconds() -> None:
    words = ["--listen", "h:0", "--heartbeat-ms", "1500", "--lease-grace-ms", "20", "--no-ui"]
    arguments = make_parser().parse_args(words)
    assert (arguments.heartbeat_ms, arguments.lease_grace_ms) == (1.5, 0.02)
    assert arguments.heartbeat_timeout_ms is None
    assert arguments.no_ui


def opened(plane: Any, runner: str, run: str, conv: str, **members: Any) -> dict[str, Any]:
    plane.tell(op="open", id=f"open {run}", runner=runner, run=run, conv=conv, **members)
    return plane.until(id=f"open {run}")


def called(plane: Any, id: str, method: str, **params: Any) -> dict[str, Any]:
    params = {"runId": "run_x", **params}
    plane.tell(op="call", id=id, run="run_x", method=method, params=params)
    return plane.until(id=id)


def everything_that_can_be_asked(plane: Any, runner: str) -> None:
    tools = opened(plane, runner, "run_x", "c1", caps={"interactiveUI": True})["manifest"]["tools"]
    assert [tool["name"] for tool in tools] == sorted(OFFERED)
    refused = opened(plane, runner, "run_y", "c2", agent={"environmentProfile": "missing"})
    assert refused["error"]["code"] == "-32603"
    assert "failed to load runner configuration" in refused["error"]["message"]

    assert called(plane, "hi", "command.execute", message="hi")["result"] == {"matched": False}
    answered = called(plane, "slash", "command.execute", message="/hello x")["result"]
    assert (answered["action"], answered["response"]) == ("respond", "hello, x")
    assert called(plane, "no", "command.execute", message="/x")["error"]["code"] == "-32603"
    blocked = called(plane, "b", "lifecycle.dispatch", event="user.message", message="blockme")
    assert blocked["error"] == {"code": "-32603", "message": "message blocked by extension: no"}

    plane.tell(op="tool", id="4", run="run_x", call="t1", tool="stream", updates=True)
    updates = [plane.until(id="4") for _ in range(3)]
    assert [line["update"]["sequence"] for line in updates] == [1, 2, 3]
    last = plane.until(id="4")["result"]["result"]["displayOutput"]
    assert last == "update 1\nupdate 2\nupdate 3\n"
    plane.tell(op="tool", id="5", run="run_x", call="t2", tool="ask", updates=True)
    assert plane.until(event="ui")["method"] == "ui.input"
    assert "\nanswer\n" in plane.until(id="5")["result"]["result"]["assistantFacing"]
    plane.tell(op="tool", id="7", run="run_x", call="t4", tool="sleep")
    plane.tell(op="abort", id="8", reason="7")
    assert plane.until(id="7")["error"]["message"].endswith("context canceled")
    plane.tell(op="close", id="9", run="run_x", status="succeeded")
    assert plane.until(id="9")["run"] == {"status": "succeeded", "error": ""}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--listen", "127.0.0.1"], "--listen: expected HOST:PORT or a URL, got '127.0.0.1'"),
        (["--listen", "[::1]"], "--listen: expected HOST:PORT"),
        (["--listen", "127.0.0.1:0", "--heartbeat-ms", "-1"], "--heartbeat-ms: expected a whole"),
        (["--listen", "127.0.0.1:0", "--lease-grace-ms", "soon"], "1 or more, got 'soon'"),
    ],
)
def test_what_makes_no_sense_is_named_by_its_own_option(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["kodelet-control-plane", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_control_plane_and_a_runner_meet(fakes: Callable[..., Any], tmp_path: Path) -> None:
    plane = fakes(NAME, "--listen", "127.0.0.1:0", "--token", "t")
    url = plane.until(event="ready")["address"]
    base = url.replace("ws://", "http://").removesuffix("/api/runner/v1/connect")
    where = ("--workspace", str(tmp_path), "--state", str(tmp_path / "state"))
    first = fakes("kodelet-runner", "--server", base, "--token", "t", "--name", "n", *where)
    plane.until(event="worker", state="ready")
    plane.tell(op="runners", id="1")
    (shown,) = plane.until(id="1")["runners"]
    assert (shown["status"], shown["generation"]) == ("idle", 1)
    assert shown["workspace"]["path"] == str(tmp_path.resolve())
    runner = shown["id"]

    everything_that_can_be_asked(plane, runner)
    opened(plane, runner, "run_z", "c3")
    first.process.kill()  # in its first link: it is known again all the same
    assert plane.until(event="conversation_cancel")["conv"] == "c3"
    assert plane.until(event="transport_end")["runner"] == runner
    plane.tell(op="run", id="10", run="run_z")
    assert plane.until(id="10")["run"]["status"] == "lost"
    second = fakes("kodelet-runner", "--server", base, "--token", "t", *where)
    second.until(event="ready")
    plane.until(event="worker", state="ready")
    plane.tell(op="runners", id="11")
    (shown,) = plane.until(id="11")["runners"]
    assert (shown["id"], shown["status"], shown["generation"]) == (runner, "idle", 2)
    second.tell(op="drop", id="d")
    assert second.until(id="d")["ok"]
    plane.until(event="transport_end")
    second.until(event="link", state="up")
    second.tell(op="raw", id="r", text="no JSON")
    assert "JSON" in plane.until(event="transport_end")["reason"]
    assert plane.end()[0] == 0
