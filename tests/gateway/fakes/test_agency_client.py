"""`gateway fake agency-client`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.agency_client import make_parser
from fleetgate.gateway.fakes.running import Ending, FakeEntryObserver
from fleetgate.gateway.logs import Log
from fleetgate.gateway.render import Line
from fleetgate.protocols import agency


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    text = make_parser().format_help()
    squeezed = "".join(text.split())
    for name in agency.ADAPTER.southbound.settings.__annotations__:
        assert f"{name}=" in squeezed


def test_ready_is_the_first_line_and_the_worker_is_there(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    words = ("--socket", str(tmp_path / "d" / "s"))
    client = fakes("agency-client", *words)  # it dials in vain at first
    fakes("agency-daemon", *words)
    assert client.line() == {"event": "ready", "address": f"unix:{words[1]}"}
    client.tell(op="workers", id="1")
    (worker,) = client.until(id="1")["workers"]
    assert worker["liveness"] == "ready"


def test_a_daemon_that_never_answers_hello_has_links_and_is_not_ready() -> None:
    lines: list[Line] = []
    entry = Entry("south", "daemon", "agency", "unix:/s", False, None)
    seen = FakeEntryObserver(Log("error"), entry, lines.append, Ending())
    seen.up("p")
    assert lines == []
    seen.down("p", "it said nothing")
    assert [line.get("state") for line in lines] == ["up", "down"]
    seen.up("p")
    seen.known()
    seen.known()
    assert [line["event"] for line in lines[2:]] == ["ready", "link"]
    seen.up("p")
    assert lines[-1] == {"event": "link", "state": "up", "reason": ""}


def test_a_signal_that_ends_programs_cancels_and_a_hangup_is_refused(
    fakes: Callable[..., Any], tmp_path: Path
) -> None:
    script = tmp_path / "s.toml"
    script.write_text('[[when]]\nmatch = "."\ndo = [{ text = "x" }, { hang = true }]\n')
    words = ("--socket", str(tmp_path / "d" / "s"))
    fakes("agency-daemon", *words, "--script", str(script)).until(event="ready")
    client = fakes("agency-client", *words)
    client.tell(op="start", id="1", run="a", input={"prompt": "p"})
    client.tell(op="follow", id="2", run="a")
    client.until(type="TextProduced")
    client.tell(op="signal", id="3", run="a", signal="hangup")
    assert client.until(type="Diagnosed")["code"] == "invalid_argument"
    client.tell(op="signal", id="4", run="a", signal="terminate")
    client.tell(op="wait", id="5", run="a")
    assert client.until(id="5")["state"] == "canceled"
