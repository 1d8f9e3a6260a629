"""What the lanes of iop, rvbox and WebSockets have in common: fakes of ours, and certificates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
import trustme
from peers import Start, fakes

from fleetgate.gateway.demo.stage import free_port


@pytest.fixture
def fake() -> Iterator[Start]:
    """Starts fakes of ours."""
    with fakes() as start:
        yield start


@pytest.fixture
def place() -> str:
    """A port that the system hands to nobody, where both ends must know it before either is
    started: lanes are played beside each other."""
    return f"127.0.0.1:{free_port()}"


@attrs.frozen
class Papers:
    """PEM files of one authority: its root, and a certificate with its key for each end."""

    ca: str
    server: tuple[str, str]
    client: tuple[str, str]
    """For the names node-7.example and host-1, and no address."""
    stranger: tuple[str, str]
    """Of another authority."""


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    """Made anew each time."""
    folder = tmp_path_factory.mktemp("papers")

    def write(name: str, authority: trustme.CA, *hosts: str) -> tuple[str, str]:
        leaf = authority.issue_cert(*hosts)
        paths = folder / f"{name}.pem", folder / f"{name}.key"
        paths[0].write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(str(paths[1]))
        return str(paths[0]), str(paths[1])

    ours, other = trustme.CA(), trustme.CA()
    root = folder / "ca.pem"
    ours.cert_pem.write_to_path(str(root))
    return Papers(
        str(root),
        write("server", ours, "127.0.0.1", "localhost"),
        write("client", ours, "node-7.example", "host-1"),
        write("stranger", other, "node-7.example"),
    )


def tls(ca: str, pair: tuple[str, str] | None = None, prefix: str = "--tls-") -> list[str]:
    """The words for these files; without a pair, none of one's own is shown."""
    words = [f"{prefix}ca", ca]
    if pair is not None:
        words += [f"{prefix}cert", pair[0], f"{prefix}key", pair[1]]
    return words


def write_script(folder: Path, text: str) -> str:
    """A script for a fake that works."""
    path = folder / "script.toml"
    path.write_text(text)
    return str(path)
