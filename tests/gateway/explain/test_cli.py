"""`gateway explain-frame`: what it says, and its exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from fleetgate.gateway.cli import main
from fleetgate.gateway.explain import cli
from fleetgate.gateway.registry import adapters

LIST = b'\0{"requestId":2,"type":"list_runs"}'
BAD = b'\0{"requestId":"2","type":"list_runs"}'


def test_a_frame_is_decoded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-frame", "agency", LIST.hex()]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith("the frame: list_runs, 35 bytes, from the controller\n")
    assert '"requestId": 2' in out


def test_a_frame_without_a_name_is_headed_by_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-frame", "rvbox", "0a03"]) == cli.REFUSED
    assert capsys.readouterr().out.startswith("the frame: 2 bytes\n")


@pytest.mark.parametrize(
    ("protocol", "frame", "rule", "section"),
    [
        ("agency", BAD, "requestId: expected an integer, a string came", "agency, 2, JSON"),
        ("agency", b"\x09{}", "unknown frame kind: 9", "agency, 1.1, table"),
        ("agency", bytes(4) + b"\0", "empty frame", "agency, 1.1, table"),
        ("rvbox", b"\xff\xff", "expected an AgentEnvelope", "rvbox, Carriage"),
        ("iop", b"\xff\xff", "expected a message in protobuf", "iop, the published schema"),
        ("kodelet", b'{"jsonrpc":"1.0"}', 'expected jsonrpc "2.0"', "kodelet, 4.3"),
    ],
)
def test_a_bad_one_is_refused_with_its_rule_and_section(
    protocol: str, frame: bytes, rule: str, section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([protocol, frame.hex()]) == cli.REFUSED
    out = capsys.readouterr().out
    assert f"refused: {rule}" in out or rule in out
    assert f"section: {section}" in out


def test_each_protocol_names_the_sections_of_its_rules() -> None:
    assert [each.name for each in adapters(()).values() if not each.showing.sections] == []


def test_who_sent_it_makes_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["agency", LIST.hex(), "--from", "daemon"]) == cli.REFUSED
    assert "from the worker" in capsys.readouterr().out


def test_a_file_and_standard_input_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "frames").write_bytes(len(LIST).to_bytes(4, "big") + LIST)
    assert cli.run(["agency", str(tmp_path / "frames"), "--json"]) == cli.OK
    assert json.loads(capsys.readouterr().out)["name"] == "list_runs"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LIST)))
    assert cli.run(["agency"]) == cli.OK
    assert "list_runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [[], ["agncy", "00"], ["agency", "no-such-file"], ["agency", "--from", "nobody"]]
)
def test_a_command_line_that_makes_no_sense(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(words) == cli.USAGE
    assert capsys.readouterr().err


def test_secrets_are_not_shown_nor_escapes_acted_on(capsys: pytest.CaptureFixture[str]) -> None:
    secret = (
        b'\0{"requestId":2,"type":"start_run","request":{"environment":{"API_TOKEN":"hunter2"}}}'
    )
    cli.run(["agency", secret.hex()])
    cli.run(["agency", b'\0{"\\u001b[31m":1}'.hex()])
    cli.run(["agency", b"\0hunter2".hex(), "--json"])
    out = capsys.readouterr().out
    assert "hunter2" not in out
    assert "secrets are not shown" in out
    assert "\x1b" not in out
