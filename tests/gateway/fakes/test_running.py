"""What every fake does around its peer, seen from outside: real processes, real sockets."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from fleetgate.gateway.demo.stage import free_port

Start: TypeAlias = Callable[..., Any]


def _reason(said: str) -> str:
    """What the one line about the end says."""
    (line,) = [line for line in map(json.loads, said.splitlines()) if line["event"] == "fake_ended"]
    return line["reason"]


def test_closed_input_is_asking_it_to_end(fakes: Start, tmp_path: Path) -> None:
    code, said = fakes("agency-client", "--socket", str(tmp_path / "none")).end()
    assert (code, _reason(said)) == (0, "its standard input was closed")


def test_quitting_is_answered_and_said(fakes: Start, tmp_path: Path) -> None:
    fake = fakes("agency-client", "--socket", str(tmp_path / "none"))
    fake.tell(op="quit", id="1")
    assert fake.until(id="1")["ok"]
    code, said = fake.end()
    assert (code, _reason(said)) == (0, "it was told to quit")


def test_a_fake_that_ends_with_its_link_up_says_nothing_else(fakes: Start, tmp_path: Path) -> None:
    words = ("--socket", str(tmp_path / "d" / "s"))
    daemon = fakes("agency-daemon", *words)
    daemon.until(event="ready")
    client = fakes("agency-client", *words)
    client.until(event="worker", state="ready")
    for fake in (client, daemon):
        code, said = fake.end()
        assert (code, len(said.splitlines())) == (0, 1), said


def test_a_peer_that_refuses_for_good_is_exit_code_3(fakes: Start, tmp_path: Path) -> None:
    plane = fakes("kodelet-control-plane", "--listen", "127.0.0.1:0", "--token", "good")
    url = plane.until(event="ready")["address"]
    where = ("--workspace", str(tmp_path), "--state", str(tmp_path / "state"))
    runner = fakes("kodelet-runner", "--server", url, "--token", "bad", *where)
    runner.process.wait(timeout=120)
    code, said = runner.end()
    assert code == 3
    assert "its peer refused it for good: " in _reason(said)
    assert len(said.splitlines()) == 1, said


def test_sigterm_is_asking_it_to_end(fakes: Start, tmp_path: Path) -> None:
    fake = fakes("agency-client", "--socket", str(tmp_path / "none"))
    fake.tell(op="workers", id="1")
    assert fake.line() == {"id": "1", "ok": True, "workers": []}
    fake.process.send_signal(signal.SIGTERM)
    fake.process.wait(timeout=120)
    code, said = fake.end()
    assert (code, _reason(said)) == (0, "it received SIGTERM")


def test_a_state_directory_serves_one_process(fakes: Start, tmp_path: Path) -> None:
    url = f"ws://127.0.0.1:{free_port()}/agent"
    words = ("rvbox-client", "--exec", "--connect", url, "--client-id", "h")
    first = fakes(*words, "--state", str(tmp_path))
    first.tell(op="runs", id="1")
    assert first.line()["ok"]
    second = fakes(*words, "--state", str(tmp_path))
    _, said = second.process.communicate(timeout=120)
    assert second.process.returncode == 1
    assert "journal.db" in said


def test_frames_are_printed_recorded_and_go_wrong_on_request(fakes: Start, tmp_path: Path) -> None:
    words = ("--socket", str(tmp_path / "d" / "s"))
    file = tmp_path / "r.jsonl"
    daemon = fakes("agency-daemon", *words, "--frames", "--record", str(file))
    daemon.until(event="ready")
    client = fakes("agency-client", *words, "--fault", "truncate=1,dir=out")
    spoilt = daemon.until(event="frame", dir="in")
    assert (spoilt["name"], spoilt["raw"]) == ("", None)
    client.tell(op="fault", id="1")
    assert client.until(id="1")["ok"]
    client.until(event="worker", state="ready")
    for fake in (client, daemon):
        assert fake.end()[0] == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[0]["protocols"] == {"agency": "0.3"}
    names = [line["name"] for line in lines if line.get("event") == "frame"]
    assert names[0] == ""
    assert "hello" in names
    assert lines[-1]["event"] == "end"


def test_a_fault_that_nobody_knows_is_a_bad_command_line(fakes: Start, tmp_path: Path) -> None:
    code, said = fakes("agency-client", "--socket", str(tmp_path), "--fault", "dropafter=1").end()
    assert code == 2
    assert "did you mean drop_after?" in said


def test_a_recording_that_cannot_be_written_stops_the_start(fakes: Start, tmp_path: Path) -> None:
    fake = fakes("agency-client", "--socket", str(tmp_path / "s"), "--record", str(tmp_path))
    code, said = fake.end()
    assert code == 1
    assert "cannot be written" in said


def test_one_socket_serves_one_fake(fakes: Start, tmp_path: Path) -> None:
    words = ("agency-daemon", "--socket", str(tmp_path / "d" / "s"))
    first = fakes(*words)
    first.until(event="ready")
    second = fakes(*words)
    assert second.process.wait(timeout=120) == 1
    code, said = second.end()
    assert code == 1
    assert "gateway fake agency-daemon: another process is already listening at" in said
    assert first.end()[0] == 0
