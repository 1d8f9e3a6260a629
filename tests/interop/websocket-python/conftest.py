"""The genuine peer of this lane: websockets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from peers import Start, starting
from staging import papers

__all__ = ["papers"]

PROGRAM = Path(__file__).parent / "websockets_peer.py"


@pytest.fixture
def genuine(record_property: Callable[[str, object], None]) -> Iterator[Start]:
    """Starts the peer."""
    record_property("peer", f"websockets {version('websockets')}")
    with starting(sys.executable, str(PROGRAM)) as start:
        yield start
