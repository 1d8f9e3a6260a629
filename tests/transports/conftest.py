"""Certificates of a small authority, as files, and short directories for sockets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
import trustme

from fleetgate.transports.api import TlsFiles


@attrs.frozen
class Certificates:
    """PEM files of one authority: for a listener on 127.0.0.1, for a dialler, and its root."""

    server: TlsFiles
    client: TlsFiles
    ca: str

    def listening(self, mutual: bool = False) -> TlsFiles:
        return attrs.evolve(self.server, ca=self.ca if mutual else None)

    def dialling(self, mutual: bool = False) -> TlsFiles:
        return attrs.evolve(self.client, ca=self.ca) if mutual else TlsFiles(ca=self.ca)


def _write(folder: Path, name: str, leaf: trustme.LeafCert) -> TlsFiles:
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    leaf.private_key_pem.write_to_path(str(key))
    return TlsFiles(str(certificate), str(key))


def make_certificates(folder: Path) -> Certificates:
    authority = trustme.CA()
    root = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(root))
    server = authority.issue_cert("127.0.0.1", "localhost", common_name="gateway")
    client = authority.issue_cert("node-7.example", "10.0.0.7", common_name="node-7")
    return Certificates(
        _write(folder, "server", server), _write(folder, "client", client), str(root)
    )


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Those of an authority that nobody trusts."""
    return make_certificates(tmp_path_factory.mktemp("strangers"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private directory with a path short enough for sockets."""
    made = Path(tempfile.mkdtemp(prefix="fg-"))
    yield made
    shutil.rmtree(made)
