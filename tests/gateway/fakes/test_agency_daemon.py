"""`gateway fake agency-daemon`, seen by a client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleetgate.gateway.fakes.agency_daemon import make_parser
from fleetgate.gateway.fakes.cli import run
from fleetgate.protocols import agency


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    squeezed = "".join(make_parser().format_help().split())
    for name in agency.ADAPTER.northbound.settings.__annotations__:
        assert f"{name}=" in squeezed


def test_a_client_hears_its_own_prompt(fakes: Callable[..., Any], tmp_path: Path) -> None:
    words = ("--socket", str(tmp_path / "d" / "s"))
    assert fakes("agency-daemon", *words).until(event="ready")["address"] == f"unix:{words[1]}"
    client = fakes("agency-client", *words)
    client.tell(op="start", id="1", run="a", input={"prompt": "say this"})
    client.tell(op="follow", id="2", run="a")
    assert client.until(type="TextProduced")["text"] == "say this"
    client.tell(op="wait", id="3", run="a")
    assert client.until(id="3")["state"] == "succeeded"


def test_whoever_leaves_in_the_middle_is_seen_to_and_the_others_go_on(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    script = tmp_path / "s.toml"
    script.write_text('[[when]]\nmatch = "."\ndo = [{ text = "x" }, { hang = true }]\n')
    words = ("--socket", str(tmp_path / "d" / "s"))
    daemon = fakes("agency-daemon", *words, "--script", str(script))
    daemon.until(event="ready")
    first, second = fakes("agency-client", *words), fakes("agency-client", *words)
    for client, name in ((first, "a"), (second, "b")):
        client.tell(op="start", id="1", run=name, input={"prompt": "p"})
        client.tell(op="follow", id="2", run=name)
        client.until(type="TextProduced")
    first.process.kill()
    daemon.until(event="link", state="down")
    daemon.tell(op="runs", id="1")
    assert len(daemon.until(id="1")["runs"]) == 2
    daemon.process.kill()
    second.until(event="worker", state="away")
    second.tell(op="status", id="3", run="b")
    assert second.until(id="3")["state"] == "running"
    fakes("agency-daemon", *words).until(event="ready")
    assert second.until(run="b", type="RunFinished")["outcome"]["state"] == "lost"
    assert second.end()[0] == 0


def test_a_script_with_an_error_stops_the_start_with_its_line_and_the_nearest_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "s.toml"
    script.write_text('[[when]]\nmatch = "."\ndo = [{ txt = "x" }]\n')
    words = ["agency-daemon", "--socket", str(tmp_path / "d" / "s"), "--script", str(script)]
    assert run(words) == 2
    wanted = f"{script}:3: when[1].do[1].txt: no step has this name; did you mean text?"
    assert wanted in capsys.readouterr().err
