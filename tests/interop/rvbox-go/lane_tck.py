"""`gateway tck` examines the client in Go."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tck import broken, examine


@pytest.fixture(autouse=True)
def peers(met: list[str], record_property: Callable[[str, object], None]) -> None:
    """Whom every test here meets."""
    for peer in met:
        record_property("peer", peer)


@pytest.fixture
def place() -> str:
    """A port that was free just now. Both ends must know it before either is started."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


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
