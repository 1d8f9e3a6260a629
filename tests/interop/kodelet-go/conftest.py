"""The peer of this lane: kodelet in Go, by its page, on coder/websocket and encoding/json.

It is independent of ours, and not genuine: kodelet's own module cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from go_programs import programs, versions
from peers import Start, starting
from staging import fake, papers, place

__all__ = ["fake", "papers", "place", "programs"]


@pytest.fixture
def met(programs: Path, record_property: Callable[[str, object], None]) -> None:
    """Whom a test meets, as it was really built."""
    for peer in versions(programs / "kodelet", "github.com/coder/websocket"):
        record_property("peer", peer)


@pytest.fixture
def genuine(programs: Path, met: None) -> Iterator[Start]:
    """Starts the peer."""
    with starting(str(programs / "kodelet")) as start:
        yield start
