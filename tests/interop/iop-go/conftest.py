"""The genuine peer of this lane: google.golang.org/grpc, with code generated from our .proto."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from go_programs import programs, versions
from peers import Start, starting
from staging import fake, papers

__all__ = ["fake", "papers", "programs"]


@pytest.fixture(scope="session")
def met(programs: Path) -> list[str]:
    """What was really built."""
    return versions(programs / "iop", "google.golang.org/grpc", "google.golang.org/protobuf")


@pytest.fixture
def genuine(programs: Path, met: list[str], record_property: object) -> Iterator[Start]:
    """Starts the peer."""
    for peer in met:
        record_property("peer", peer)
    with starting(str(programs / "iop")) as start:
        yield start


@pytest.fixture
def often() -> float:
    """Seconds between a client's pings: Go's own clients never ping more often."""
    return 10
