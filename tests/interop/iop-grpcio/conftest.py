"""The genuine peer of this lane: grpcio, with code generated from our .proto."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from go_programs import PACKAGES, SCHEMAS
from peers import Start, starting
from programs import run
from staging import fake, papers, place

__all__ = ["fake", "papers", "place"]

PROGRAM = Path(__file__).parent / "grpcio_peer.py"


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What protoc makes of iop's files."""
    folder = tmp_path_factory.mktemp("stubs")
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{SCHEMAS}"]
    out = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
    run([*protoc, *out, *PACKAGES["iop"]])
    return folder


@pytest.fixture
def met(record_property: Callable[[str, object], None]) -> None:
    """Whom a test meets."""
    for name in ("grpcio", "protobuf"):
        record_property("peer", f"{name} {version(name)}")


@pytest.fixture
def genuine(stubs: Path, met: None) -> Iterator[Start]:
    """Starts the peer."""
    with starting(sys.executable, str(PROGRAM), str(stubs)) as start:
        yield start


@pytest.fixture
def often() -> float:
    """Seconds between a client's pings: the C core takes no fewer."""
    return 1
