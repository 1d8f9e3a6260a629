"""One link in words."""

from __future__ import annotations

from base64 import b64decode

import pytest

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.recording.witness import Witness, described, our_part, without_query
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.explaining import Explained
from fleetgate.transports.api import Opening
from fleetgate.transports.memory import memory_link_pair
from fleetgate.transports.tap import Crossed, Over

KNOWN = adapters(())
HELLO = b'\0{"requestId":1,"type":"hello","client_name":"c","version":{"major":0,"minor":3}}'


def test_a_frame_has_its_direction_its_sender_and_both_forms() -> None:
    witness = Witness(3, KNOWN["agency"].showing, "worker")
    line = witness.frame(Crossed("in", 1.5, HELLO), 99)
    assert line["event"] == "frame"
    assert (line["dir"], line["from"], line["link"], line["time"]) == ("in", "controller", 3, 99)
    assert (line["name"], line["size"]) == ("hello", len(HELLO))
    assert line["message"]["client_name"] == "c"
    assert b64decode(line["raw"]) == HELLO
    assert "rule" not in line
    assert "redacted" not in line


def test_what_cannot_be_read_is_not_shown() -> None:
    witness = Witness(1, KNOWN["agency"].showing, "worker")
    line = witness.frame(Crossed("in", 0, b"\0{s3cr3t"), 0)
    assert (line["message"], line["raw"], line["size"]) == (None, None, 8)
    assert "not JSON" in line["rule"]
    assert "s3cr3t" not in str(line)


def test_ends_and_links_have_items_of_their_own() -> None:
    witness = Witness(1, KNOWN["rvbox"].showing, "controller", "/agent?token=s3cr3t")
    line = witness.link(7, "rvbox", "hosts", "ws://u:s3cr3t@h:1/agent?k=s3cr3t", "worker")
    assert (line["address"], line["path"]) == ("ws://h:1/agent", "/agent")
    assert "s3cr3t" not in str(line)
    over = witness.over(Over("in", 0, 4001, "s3cr3t", True), 8)
    assert over == {
        "event": "over",
        "dir": "in",
        "link": 1,
        "time": 8,
        "from": "worker",
        "code": 4001,
        "broken": True,
    }
    ours = witness.over(Over("in", 0, 1009, "a message of 9 bytes came", True, True), 8)
    assert ours == {**over, "code": 1009, "rule": "a message of 9 bytes came"}


@pytest.mark.parametrize(
    ("facing", "listens", "path", "part"),
    [
        ("south", True, "", "controller"),
        ("north", False, "", "worker"),
        ("south", True, "/iop.NodeLink/Connect", "controller"),
        ("south", True, "/iop.EdgeControl/Run", "worker"),
        ("north", True, "/iop.EdgeControl/Run", "worker"),
        ("north", False, "/iop.NodeLink/Connect", "worker"),
    ],
)
def test_our_part_follows_from_the_entry_and_the_path(facing, listens, path, part) -> None:
    link, _ = memory_link_pair()
    link.opening = Opening(path=path)
    link.speaks_status = bool(path)
    entry = Entry(facing, "e", "iop", "memory:x", listens, None)
    assert our_part(entry, link, KNOWN["iop"].showing) == part


def test_looking_for_answers_disturbs_no_names() -> None:
    witness = Witness(1, KNOWN["kodelet"].showing, "controller")
    is_answer = witness.is_answer()
    ask = b'{"jsonrpc":"2.0","id":"1","method":"run.open","params":{}}'
    answer = b'{"jsonrpc":"2.0","id":"1","result":null}'
    names = []
    for way, frame in (("out", ask), ("in", answer)):
        assert is_answer(way, frame) is (frame == answer)
        names.append(witness.frame(Crossed(way, 0, frame), 0)["name"])
    assert names == ["run.open", "run.open result"]


def test_rules_and_redactions_are_told() -> None:
    line = described(Explained("x", {"a": 1}, b"raw", "wrong", 2))
    assert (line["rule"], line["redacted"]) == ("wrong", 2)


def test_addresses_keep_what_is_no_secret() -> None:
    for address in ("unix:/a/b.sock", "memory:x", "grpc://127.0.0.1:7", "wss://h/x"):
        assert without_query(address) == address
