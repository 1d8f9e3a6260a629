"""`gateway fake rvbox-server`, and the host daemon that does not really execute."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fleetgate.gateway.fakes.rvbox_server import make_parser
from fleetgate.protocols import rvbox


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    squeezed = "".join(make_parser().format_help().split())
    for name in rvbox.ADAPTER.southbound.settings.__annotations__:
        assert f"{name}=" in squeezed


def test_a_command_is_said_and_not_executed(fakes: Callable[..., Any], tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t")
    server = fakes("rvbox-server", "--listen", "ws://127.0.0.1:0/agent", "--token", "t=h")
    url = server.until(event="ready")["address"]
    words = ("--connect", url, "--client-id", "h", "--token-file", str(token))
    fakes("rvbox-client", *words, "--state", str(tmp_path / "state"))
    assert server.until(event="worker", state="ready")["worker"] == "h"
    touched = tmp_path / "touched"
    argv = ["touch", str(touched)]
    server.tell(op="start", id="1", run="a", worker="h", input={"argv": argv})
    server.tell(op="follow", id="2", run="a")
    assert server.until(type="OutputProduced")["text"] == " ".join(argv)
    server.tell(op="wait", id="3", run="a")
    assert server.until(id="3")["outcome"]["exit_code"] == 0
    assert not touched.exists()


def test_who_is_refused_and_a_prompt_that_no_host_takes_leave_lines_of_json(
    fakes: Callable[..., Any],
) -> None:
    server = fakes("rvbox-server", "--listen", "ws://127.0.0.1:0/agent", "--token", "t=h")
    url = urlsplit(server.until(event="ready")["address"])
    head = f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\n"
    key = (
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + "A" * 22 + "=="
    )
    with socket.create_connection((url.hostname, url.port)) as stranger:
        stranger.sendall(f"{head}{key}\r\n\r\n".encode())
        assert stranger.makefile("rb").readline().split()[1] == b"401"
        while stranger.recv(1 << 16):
            pass
    server.tell(op="start", id="1", run="a", input={"prompt": "hi"})
    refused = server.until(id="1")["error"]
    assert refused["code"] == "unsupported_input"
    assert refused["message"].endswith("give `line`, `argv` or `script` instead")
    code, said = server.end()
    assert code == 0
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["event"] for line in lines] == ["listener_report", "fake_ended"]
    assert "401" in lines[0]["reason"]
