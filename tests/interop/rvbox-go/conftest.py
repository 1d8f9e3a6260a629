"""The genuine peer of this lane: rvbox in Go, by its page, on coder/websocket and protobuf-go."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from go_programs import programs, versions
from peers import Start, starting
from staging import fake, papers, place

__all__ = ["fake", "papers", "place", "programs"]


@pytest.fixture(scope="session")
def met(programs: Path) -> list[str]:
    """What was really built."""
    modules = ("github.com/coder/websocket", "google.golang.org/protobuf")
    return versions(programs / "rvbox", *modules)


@pytest.fixture
def genuine(
    programs: Path, met: list[str], record_property: Callable[[str, object], None]
) -> Iterator[Start]:
    """Starts the peer."""
    for peer in met:
        record_property("peer", peer)
    with starting(str(programs / "rvbox")) as start:
        yield start


@pytest.fixture
def run() -> str:
    """The id of a run, which here is that of its command, too."""
    return str(uuid.uuid4())
