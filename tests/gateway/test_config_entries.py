"""Secrets and entries; the refusals of tables are in `test_config.py`, with their lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetgate.gateway.config_entries import (
    MAX_SECRET,
    Facing,
    Secret,
    SecretUnreadable,
    read_entry,
)
from fleetgate.gateway.config_reader import Flawed
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import plain_adapter


def test_a_secret_is_read_at_each_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GW_TOKEN", "one")
    assert Secret(env="GW_TOKEN").read() == "one"
    monkeypatch.setenv("GW_TOKEN", "two")
    assert Secret(env="GW_TOKEN").read() == "two"
    file = tmp_path / "token"
    file.write_text("three\r\n")
    assert Secret(file=str(file)).read() == "three"
    file.write_text("four")
    assert Secret(file=str(file)).read() == "four"


def test_a_secret_that_is_not_there_names_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GW_TOKEN", raising=False)
    with pytest.raises(SecretUnreadable) as caught:
        Secret(env="GW_TOKEN").read()
    assert str(caught.value) == "the environment variable GW_TOKEN is not set or is empty"
    file = tmp_path / "token"
    with pytest.raises(SecretUnreadable) as caught:
        Secret(file=str(file)).read()
    assert str(caught.value) == f"the file {file} cannot be read: No such file or directory"
    file.write_text("\n")
    with pytest.raises(SecretUnreadable, match="is not set or is empty"):
        Secret(file=str(file)).read()
    file.write_bytes(b"\xff")
    with pytest.raises(SecretUnreadable, match="not UTF-8"):
        Secret(file=str(file)).read()


def test_a_named_pipe_is_no_secret_and_nobody_waits_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token")
    with pytest.raises(SecretUnreadable, match="cannot be read: it is not a regular file"):
        Secret(file=str(tmp_path / "token")).read()


@pytest.mark.limit("gateway/config_entries.MAX_SECRET")
def test_a_wrong_path_reads_no_more_than_a_secret_may_have(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"x" * (MAX_SECRET * 2))
    assert len(Secret(file=str(file)).read()) == MAX_SECRET


def test_without_a_known_protocol_its_own_keys_are_not_judged(tmp_path: Path) -> None:
    table = {"name": "a", "protocol": "new", "connect": "unix:a", "anything": 1}
    with pytest.raises(Flawed) as caught:
        read_entry("south", table, ("south", 0), tmp_path, {})
    (flaw,) = caught.value.flaws
    assert flaw.path == ("south", 0, "protocol")


def _flaws(table: object, base: Path) -> dict[str, str]:
    with pytest.raises(Flawed) as caught:
        read_entry("south", table, ("south", 0), base, {"plain": plain_adapter()})
    return {str(flaw.path[-1]): flaw.message for flaw in caught.value.flaws}


def test_a_misspelt_protocol_key_is_named_with_its_neighbour(tmp_path: Path) -> None:
    found = _flaws({"name": "a", "protocl": "plain", "connect": "unix:a", "greeting": 1}, tmp_path)
    assert found["protocol"] == "is missing"
    assert found["protocl"] == "unknown key; did you mean protocol?"


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    table = {"name": "No", "protocol": "plain", "listen": "ftp://h", "tls": 5, "bogus": 1}
    found = _flaws(table, tmp_path)
    assert set(found) == {"name", "listen", "tls", "bogus"}
    assert "is no address: wanted one of unix:" in found["listen"]


@pytest.mark.parametrize("key", ["name", "protocol", "listen"])
def test_what_stands_in_for_a_wrong_value_causes_no_further_flaw(key: str, tmp_path: Path) -> None:
    table = {"name": "a", "protocol": "plain", "listen": "unix:a", key: 5}
    assert _flaws(table, tmp_path) == {key: "expected a string, got a number"}


ASKING = {
    "listen": "tcp://127.0.0.1:1",
    "tokens": [{"token": {"env": "A"}, "id": "a"}, {"token": {"env": "B"}, "id": "b"}],
}


@pytest.mark.parametrize(
    ("rights", "said"),
    [
        ({"connect": "tcp://127.0.0.1:1", "readers": ["a"]}, {"readers": "is about who comes in"}),
        ({"connect": "tcp://127.0.0.1:1", "overseers": ["a"]}, {"overseers": "is about who comes"}),
        (
            {**ASKING, "readers": ["b", "a"], "overseers": ["a"]},
            {"readers": "a is also one of overseers"},
        ),
    ],
)
def test_a_name_has_one_right_and_only_who_comes_in_has_any(
    rights: dict[str, object], said: dict[str, str], tmp_path: Path
) -> None:
    flaws = _flaws({"name": "a", "protocol": "plain", **rights}, tmp_path)
    assert set(flaws) == set(said)
    assert all(flaws[key].startswith(words) for key, words in said.items())


def test_overseers_and_readers_are_read(tmp_path: Path) -> None:
    table = {"name": "a", "protocol": "plain", **ASKING}
    rights = {"readers": ["a"], "overseers": ["b", "*"]}
    entry = read_entry(
        "south", {**table, **rights}, ("south", 0), tmp_path, {"plain": plain_adapter()}
    )
    assert (entry.readers, entry.overseers) == (("a",), ("b", "*"))


@pytest.mark.parametrize("key", ["readers", "overseers"])
def test_a_right_of_nobody_is_a_slip(key: str, tmp_path: Path) -> None:
    """Whoever is misspelt in `readers` would be let in with all other rights."""
    table = {"name": "a", "protocol": "plain"}
    adapters = {"plain": plain_adapter()}

    def flaws(**more: object) -> dict[str, str]:
        with pytest.raises(Flawed) as caught:
            read_entry("south", {**table, **more}, ("south", 0), tmp_path, adapters)
        return {str(flaw.path[2:]): flaw.message for flaw in caught.value.flaws}

    unasked = flaws(listen="unix:s", **{key: ["*", "a"]})
    assert unasked == {
        f"('{key}',)": "nobody is asked here who they are; set tokens, or client_ca in tls"
    }
    dashes = {**ASKING, "tokens": [{"token": {"env": "A"}, "id": "dash"}]}
    slip = flaws(**{**dashes, key: ["dsah"]})
    assert slip == {f"('{key}', 0)": "no token has the id dsah; did you mean dash?"}
    # Names of certificates are the authority's to give.
    tls = {"certificate": "c", "key": "k", "client_ca": "ca"}
    certified = {**dashes, "listen": "tls://127.0.0.1:1", "tls": tls, key: ["dsah"]}
    read_entry("south", {**table, **certified}, ("south", 0), tmp_path, adapters)


def test_a_path_with_a_space_is_an_address(tmp_path: Path) -> None:
    table = {"name": "a", "protocol": "plain", "listen": "unix:run/s"}
    base = tmp_path / "my files"
    read = read_entry("south", table, ("south", 0), base, {"plain": plain_adapter()})
    assert read.address == f"unix:{base}/run/s"


@pytest.mark.parametrize(
    ("listen", "refused"),
    [
        ("ws://0.0.0.0:17820", True),
        ("ws://192.0.2.1:17820", True),
        ("ws://[::]:17820", True),
        ("ws://127.0.0.1:17820", False),
        ("ws://[::1]:17820", False),
        ("ws://localhost:17820", False),
        ("unix:/run/x/agency-proxy.sock", False),
        ("tcp://0.0.0.0:1", False),
    ],
)
def test_case_g61_a_protocol_may_keep_its_websockets_to_this_machine(
    listen: str, refused: bool, tmp_path: Path
) -> None:
    table = {"name": "gui", "protocol": "agency", "listen": listen}
    if not refused:
        assert read_entry("north", table, ("north", 0), tmp_path, adapters(())).listens
        return
    with pytest.raises(Flawed) as caught:
        read_entry("north", table, ("north", 0), tmp_path, adapters(()))
    (flaw,) = caught.value.flaws
    assert str(flaw.path[-1]) == "listen"
    assert flaw.message.startswith("WebSocket address must be loopback, got ")


NODES = "nodes dial their edge, and nobody is there to be dialled; use listen, and have them dial"
CLIENT = "who comes in here is a control client, and those come by gRPC only; use grpc: or grpcs:"


@pytest.mark.parametrize(
    ("facing", "protocol", "where", "address", "said"),
    [
        ("north", "iop", "listen", "tcp://127.0.0.1:1", CLIENT),
        ("north", "iop", "listen", "ws://127.0.0.1:1/iop", CLIENT),
        ("north", "iop", "listen", "unix:/run/x", CLIENT),
        ("north", "iop", "listen", "grpc://127.0.0.1:1", ""),
        ("north", "iop", "connect", "grpc://127.0.0.1:1", ""),
        ("north", "iop", "connect", "tcp://127.0.0.1:1", ""),
        ("north", "iop", "connect", "wss://edge.example/iop", ""),
        ("south", "iop", "connect", "tcp://127.0.0.1:1", NODES),
        ("south", "iop", "connect", "grpcs://127.0.0.1:1", NODES),
        ("south", "iop", "connect", "stdio:", ""),
        ("south", "iop", "listen", "tcp://127.0.0.1:1", ""),
        ("south", "iop", "listen", "ws://127.0.0.1:1/iop", ""),
        ("south", "kodelet", "connect", "ws://127.0.0.1:1/x", "runners dial their control plane"),
        ("south", "kodelet", "listen", "ws://127.0.0.1:1/x", ""),
        ("north", "kodelet", "listen", "ws://127.0.0.1:1/x", "a control plane listens, so nobody"),
        ("north", "kodelet", "connect", "ws://127.0.0.1:1/x", ""),
        (
            "north",
            "agency",
            "connect",
            "unix:/run/x/a.sock",
            "clients dial their daemon, and nobody",
        ),
        ("north", "agency", "connect", "stdio:", ""),
        ("north", "agency", "listen", "unix:/run/x/a.sock", ""),
        ("south", "agency", "listen", "unix:/run/x/a.sock", "a daemon listens, so nobody comes in"),
        ("south", "agency", "connect", "unix:/run/x/a.sock", ""),
        (
            "south",
            "rvbox",
            "connect",
            "ws://127.0.0.1:1/x",
            "clients dial their server, and nobody",
        ),
        ("south", "rvbox", "listen", "ws://127.0.0.1:1/x", ""),
        ("north", "rvbox", "listen", "ws://127.0.0.1:1/x", "a server listens, so nobody comes in"),
        ("north", "rvbox", "connect", "ws://127.0.0.1:1/x", ""),
    ],
)
def test_where_a_protocol_meets_nobody_is_refused(
    facing: Facing, protocol: str, where: str, address: str, said: str, tmp_path: Path
) -> None:
    table = {"name": "a", "protocol": protocol, where: address}
    if not said:
        assert read_entry(facing, table, (facing, 0), tmp_path, adapters(())).address == address
        return
    with pytest.raises(Flawed) as caught:
        read_entry(facing, table, (facing, 0), tmp_path, adapters(()))
    (flaw,) = caught.value.flaws
    assert flaw.path == (facing, 0, where)
    assert flaw.message.startswith(said)


@pytest.mark.parametrize("scheme", ["tcp", "grpc"])
def test_control_clients_of_an_edge_come_by_grpc_only(scheme: str, tmp_path: Path) -> None:
    address = f"{scheme}://127.0.0.1:1"
    table = {"name": "a", "protocol": "iop", "listen": address, "control": True}
    if scheme == "grpc":
        assert read_entry("south", table, ("south", 0), tmp_path, adapters(())).settings.control
        return
    with pytest.raises(Flawed) as caught:
        read_entry("south", table, ("south", 0), tmp_path, adapters(()))
    (flaw,) = caught.value.flaws
    said = "control clients come by gRPC only; use grpc: or grpcs:, or leave control out"
    assert (flaw.path[-1], flaw.message) == ("listen", said)


def test_of_an_address_that_is_wrong_itself_nothing_more_is_said(tmp_path: Path) -> None:
    for value, said in ((5, "expected a string, got a number"), ("ftp://h", "'ftp://h' is no")):
        table = {"name": "a", "protocol": "iop", "listen": value}
        with pytest.raises(Flawed) as caught:
            read_entry("north", table, ("north", 0), tmp_path, adapters(()))
        (flaw,) = caught.value.flaws
        assert flaw.message.startswith(said)
