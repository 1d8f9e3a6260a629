"""`gateway tck` examines the client and the server in Go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tck import broken, examine, says


@pytest.fixture(autouse=True)
def peers(met: list[str], record_property: Callable[[str, object], None]) -> None:
    """Whom every test here meets."""
    for peer in met:
        record_property("peer", peer)


def test_the_client(
    programs: Path, place: str, record_property: Callable[[str, object], None]
) -> None:
    """The client in Go meets every must of `gateway tck rvbox client`."""
    url = f"ws://{place}/agent"
    start = [programs / "rvbox", "client", "-at", url, "-id", "host-1"]
    tried = examine(("rvbox", "client"), url, start)
    assert len(tried) >= 30
    assert broken(tried) == set()
    record_property("count", len(tried))


def test_the_server(
    programs: Path, place: str, record_property: Callable[[str, object], None]
) -> None:
    """The server in Go meets every must of `gateway tck rvbox server`."""
    start = [programs / "rvbox", "server", "-at", place]
    run = {"op": "start", "run": "{name}", "client": "tck-host", "line": "{line}", "stdin": True}
    asked = says(
        run=json.dumps(run),
        send=json.dumps({"op": "send", "run": "{run}", "text": "{text}"}),
        cancel=json.dumps({"op": "signal", "run": "{run}", "signal": "terminate"}),
    )
    url = f"ws://{place}/agent"
    tried = examine(("rvbox", "server"), url, start, "--client-id", "tck-host", *asked)
    assert len(tried) >= 30
    # protobuf-go writes members of a oneof behind all others: its deterministic bytes are not ours.
    assert broken(tried) == {"RVBOX-S-041"}
    record_property("count", len(tried))
