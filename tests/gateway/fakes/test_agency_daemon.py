"""`gateway fake agency-daemon`, seen by a client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleetgate.gateway.fakes.agency_daemon import make_parser
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
