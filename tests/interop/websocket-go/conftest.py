"""The genuine peer of this lane: coder/websocket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from go_programs import build, versions
from peers import Start, starting


@pytest.fixture(scope="session")
def program(cache: Path) -> Path:
    """The program."""
    return build(cache) / "websocket"


@pytest.fixture
def genuine(program: Path, record_property: Callable[[str, object], None]) -> Iterator[Start]:
    """Starts the peer."""
    for peer in versions(program, "github.com/coder/websocket"):
        record_property("peer", peer)
    with starting(str(program)) as start:
        yield start
