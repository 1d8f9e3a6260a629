"""`gateway tck` examines a node and an edge on grpcio, written from the protocol's page alone.

Most of a kit's time goes by in silence, so its parts are tried beside each other, each at a peer
of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tck import broken, examine, is_whole, pick

LANE = Path(__file__).parent
TOKEN = "t0ken"
NODE, EDGE = ("iop", "node"), ("iop", "edge")

PARTS_OF_NODE = (
    ("IOP-N-008",),
    ("IOP-N-009", "IOP-N-010"),
    ("IOP-N-00[1-7]", "IOP-N-01[1-9]"),
    ("runs",),
)
PARTS_OF_EDGE = (
    ("IOP-E-009", "IOP-E-01?"),
    ("runs",),
    ("IOP-E-00[1-8]", "control"),
)


def test_parts_are_the_whole() -> None:
    """The parts in which the two kits are tried have each requirement once."""
    assert is_whole(NODE, PARTS_OF_NODE)
    assert is_whole(EDGE, PARTS_OF_EDGE)


@pytest.mark.parametrize("part", PARTS_OF_NODE, ids=lambda part: part[0])
def test_the_node(
    stubs: Path,
    place: str,
    met: None,
    part: Sequence[str],
    record_property: Callable[[str, object], None],
) -> None:
    """The node on grpcio meets every must of `gateway tck iop node`."""
    start = [sys.executable, LANE / "grpcio_node.py", stubs, "--at", place, "--token", TOKEN]
    given = ["--token", TOKEN, "--adapter", "mock", "--hold-prompt", "hold", *pick(part)]
    tried = examine(NODE, f"grpc://{place}", start, *given)
    # It is of others, and so numbers no events: it goes on behind a reconnect with what is new.
    assert broken(tried) <= {"IOP-N-115"}
    record_property("count", len(tried))


@pytest.mark.parametrize("part", PARTS_OF_EDGE, ids=lambda part: part[0])
def test_the_edge(
    stubs: Path,
    place: str,
    met: None,
    part: Sequence[str],
    record_property: Callable[[str, object], None],
) -> None:
    """The edge on grpcio meets every must of `gateway tck iop edge`."""
    start = [sys.executable, LANE / "grpcio_edge.py", stubs, "--at", place]
    given = ["--token", TOKEN, "--adapter", "mock", *pick(part)]
    tried = examine(EDGE, f"grpc://{place}", [*start, "--token", f"{TOKEN}=n1"], *given)
    assert broken(tried) == set()
    record_property("count", len(tried))
