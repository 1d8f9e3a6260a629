"""What is measured: the relay's process, and a config that the gateway takes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fleetgate.gateway.bench.subjects import (
    Kind,
    config_text,
    is_ready,
    listening_at,
    open_subject,
)
from fleetgate.gateway.config import parse
from fleetgate.gateway.registry import adapters


def test_the_config_is_one_that_the_gateway_takes_wherever_it_lies(tmp_path: Path) -> None:
    disk = tmp_path / 'with "quotes" \\ and spaces'
    config = parse(config_text(tmp_path, disk), "gateway.toml", adapters())
    assert config.gateway.journal == f"sqlite:{disk}/journal.db"
    assert config.north[0].address == f"unix:{tmp_path}/agency.sock"
    assert (config.routes[0].from_, config.routes[0].to) == ("gui", "hosts")


def test_the_gateways_log_lines_are_told_apart() -> None:
    at = {"event": "entry_listening", "entry": "hosts", "address": "ws://127.0.0.1:5/agent"}
    assert listening_at(json.dumps(at)) == "ws://127.0.0.1:5/agent"
    assert is_ready(json.dumps({"event": "gateway_ready"}))
    for other in (at | {"entry": "gui"}, at | {"event": "entry_failed"}, [at], "text", 5):
        assert listening_at(json.dumps(other)) is None
        assert is_ready(json.dumps(other)) is None
    assert listening_at("Traceback (most recent call last):") is None


@pytest.mark.parametrize("kind", Kind)
async def test_a_subject_says_where_it_listens_and_ends_with_its_block(
    kind: Kind, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sockets, disk = tmp_path_factory.mktemp("s"), tmp_path_factory.mktemp("d")
    async with open_subject(kind, sockets, disk, family=[]) as subject:
        assert subject.url.startswith("ws://127.0.0.1:")
        assert subject.socket.is_socket()
        assert (disk / "journal.db").exists() == (kind is Kind.BRIDGE)
    with pytest.raises(ProcessLookupError):
        os.kill(subject.child.pid, 0)
