"""Who could come in, and from where."""

from __future__ import annotations

import attrs
import pytest

from fleetgate.gateway.config_entries import Entry, Grant, Secret
from fleetgate.gateway.exposure import asks_nobody, is_encrypted, is_remote
from fleetgate.transports.api import TlsFiles


def _at(address: str) -> Entry:
    return Entry("south", "hosts", "rvbox", address, True, None)


@pytest.mark.parametrize(
    ("address", "remote"),
    [
        ("ws://0.0.0.0:1", True),
        ("ws://[::]:1", True),
        ("ws://:1", True),
        ("wss://192.0.2.1", True),
        ("grpc://gw.example:1", True),
        ("tcp://[::ffff:192.0.2.1]:1", True),
        ("ws://127.0.0.1:1", False),
        ("ws://127.9.9.9:1", False),
        ("ws://localhost", False),
        ("tcp://[::1]:1", False),
        ("unix:/run/s", False),
        ("memory:x", False),
        ("stdio:", False),
    ],
)
def test_what_is_reached_from_beyond_this_machine(address: str, remote: bool) -> None:
    assert is_remote(_at(address)) is remote


def test_who_asks_nobody() -> None:
    entry = _at("ws://0.0.0.0:1")
    assert asks_nobody(entry)
    assert asks_nobody(attrs.evolve(entry, tls=TlsFiles("c", "k")))
    assert not asks_nobody(attrs.evolve(entry, tls=TlsFiles("c", "k", "ca")))
    assert not asks_nobody(attrs.evolve(entry, tokens=(Grant(Secret(env="T"), "h"),)))
    assert not asks_nobody(attrs.evolve(entry, listens=False))


@pytest.mark.parametrize(
    ("address", "encrypted"), [("wss://h", True), ("GRPCS://h:1", True), ("ws://h", False)]
)
def test_what_can_be_read_on_the_way(address: str, encrypted: bool) -> None:
    assert is_encrypted(_at(address)) is encrypted
