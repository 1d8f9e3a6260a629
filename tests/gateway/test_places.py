"""Addresses of a config file and where they lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetgate.gateway.places import (
    TcpPlace,
    UnixPlace,
    collide,
    is_literal,
    place_of,
    resolve_address,
    resolve_path,
)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("unix:/run/a.sock", UnixPlace("/run/a.sock")),
        ("unix:", UnixPlace("")),
        ("wss://0.0.0.0:8443/agent", TcpPlace("0.0.0.0", 8443)),
        ("tcp://[::1]:80", TcpPlace("::1", 80)),
        ("tls:Host.Example:9", TcpPlace("host.example", 9)),
        ("127.0.0.1:7780", TcpPlace("127.0.0.1", 7780)),
        ("localhost:7780", TcpPlace("127.0.0.1", 7780)),
        (":7780", TcpPlace("", 7780)),
        ("ws://host", TcpPlace("host", 80)),
        ("wss://[::1]/agent", TcpPlace("::1", 443)),
        ("tcp://host", None),
        ("tcp://host:99999", None),
        ("nonsense", None),
        ("", None),
    ],
)
def test_place_of(address: str, place: UnixPlace | TcpPlace | None) -> None:
    assert place_of(address) == place


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("unix:/a", "unix:/a", True),
        ("unix:/a", "unix:/b", False),
        ("unix:/g/../g/s", "unix:/g/s", True),
        ("unix:/g//./s", "unix:/g/s", True),
        ("ws://10.0.0.1:80/a", "ws://10.0.0.1:80/b", True),
        ("ws://10.0.0.1:80", "ws://10.0.0.2:80", False),
        ("ws://10.0.0.1:80", "ws://10.0.0.1:81", False),
        ("ws://0.0.0.0/agent", "ws://10.0.0.1:80", True),
        ("tcp://0.0.0.0:80", "tcp://10.0.0.1:80", True),
        ("tcp://[::]:80", "127.0.0.1:80", True),
        ("tcp://localhost:80", "127.0.0.1:80", True),
        ("tcp://127.0.0.1:0", "tcp://127.0.0.1:0", False),
        ("nonsense", "nonsense", False),
        ("unix:/80", "tcp://h:80", False),
    ],
)
def test_collide(one: str, other: str, expected: bool) -> None:
    assert collide(place_of(one), place_of(other)) is expected
    assert collide(place_of(other), place_of(one)) is expected


def test_only_loopback_is_loopback() -> None:
    assert TcpPlace("127.0.0.1", 1).loopback
    assert TcpPlace("::1", 1).loopback
    assert not TcpPlace("0.0.0.0", 1).loopback
    assert not TcpPlace("", 1).loopback


def test_paths_start_at_the_file_or_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    base = Path("/etc/gw")
    assert resolve_path("a/b", base) == "/etc/gw/a/b"
    assert resolve_path("/a/b", base) == "/a/b"
    assert resolve_path("~/b", base) == "/home/me/b"
    assert resolve_address("unix:a", base) == "unix:/etc/gw/a"
    assert resolve_address("unix:~/a", base) == "unix:/home/me/a"
    assert resolve_address("tcp://h:1", base) == "tcp://h:1"
    assert resolve_address("unix:", base) == "unix:"


@pytest.mark.parametrize(
    ("host", "literal"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3:80", True),
        ("[::1]:80", True),
        ("localhost", True),
        ("LOCALHOST:80", True),
        ("gw.example", False),
        ("gw.example:80", False),
        ("", False),
        ("unix:/x", False),
        ("127.0.0.1.evil.example", False),
    ],
)
def test_a_host_that_is_an_address(host: str, literal: bool) -> None:
    assert is_literal(host) is literal
