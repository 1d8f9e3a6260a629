"""`gateway fake rvbox-server`, and the host daemon that does not really execute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleetgate.gateway.fakes.rvbox_server import make_parser
from fleetgate.protocols import rvbox


def test_help_names_every_time_and_limit_of_the_protocol() -> None:
    squeezed = "".join(make_parser().format_help().split())
    for name in rvbox.ADAPTER.southbound.settings.__annotations__:
        assert f"{name}=" in squeezed


def test_a_command_is_said_and_not_executed(fakes: Callable[..., Any], tmp_path: Path) -> None:
    server = fakes("rvbox-server", "--listen", "ws://127.0.0.1:0/agent")
    url = server.until(event="ready")["address"]
    fakes("rvbox-client", "--connect", url, "--client-id", "h", "--state", str(tmp_path / "state"))
    assert server.until(event="worker", state="ready")["worker"] == "hosts/h"
    touched = tmp_path / "touched"
    argv = ["touch", str(touched)]
    server.tell(op="start", id="1", run="a", worker="h", input={"argv": argv})
    server.tell(op="follow", id="2", run="a")
    assert server.until(type="OutputProduced")["text"] == " ".join(argv)
    server.tell(op="wait", id="3", run="a")
    assert server.until(id="3")["outcome"]["exit_code"] == 0
    assert not touched.exists()
