"""The genuine peer of this lane: coder/websocket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from go_programs import programs, versions
from peers import Start, starting
from staging import papers

__all__ = ["papers", "programs"]


@pytest.fixture
def genuine(programs: Path, record_property: Callable[[str, object], None]) -> Iterator[Start]:
    """Starts the peer."""
    for peer in versions(programs / "websocket", "github.com/coder/websocket"):
        record_property("peer", peer)
    with starting(str(programs / "websocket")) as start:
        yield start
