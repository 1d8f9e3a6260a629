"""`gateway explain-frame`: what it says, and its exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from fleetgate.gateway.cli import main
from fleetgate.gateway.explain_frame import cli
from fleetgate.gateway.registry import adapters

LIST = b'\0{"requestId":2,"type":"list_runs"}'
AGENCY = Path(__file__).parents[2] / "transcripts" / "agency.jsonl"
BAD = b'\0{"requestId":"2","type":"list_runs"}'


def test_the_two_that_explain_name_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "--help"])
    assert "gateway explain-frame" in capsys.readouterr().out
    main(["explain-frame", "--help"])
    assert "`gateway explain` is another thing" in " ".join(capsys.readouterr().out.split())


def test_a_frame_is_decoded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-frame", "agency", LIST.hex()]) == cli.OK
    out = capsys.readouterr().out
    assert out.startswith("the frame: list_runs, 35 bytes, from the controller\n")
    assert '"requestId": 2' in out


def test_a_frame_without_a_name_is_headed_by_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-frame", "rvbox", "0a03"]) == cli.REFUSED
    assert capsys.readouterr().out.startswith("the frame: 2 bytes\n")


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_is_read_with_its_end_and_without(
    end: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of JSON is a frame of agency's; from a log it is copied without its end."""
    (tmp_path / "f").write_bytes(LIST[1:] + end)
    assert cli.run(["agency", str(tmp_path / "f")]) == cli.OK
    assert capsys.readouterr().out.startswith("frame 1: list_runs, 35 bytes, from the controller")


def test_one_byte_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["agency", "7b"]) == cli.REFUSED
    assert capsys.readouterr().out.startswith("the frame: 1 byte\n")


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


@pytest.mark.parametrize(
    ("digits", "rule"),
    [
        ("000000020201", "expected a JSON text frame"),
        ("00000002040a", "malformed close frame"),
        ("00000000", "empty frame"),
    ],
)
@pytest.mark.parametrize("between", [True, False])
def test_what_a_daemon_drops_is_refused_wherever_the_option_stands(
    digits: str, rule: str, between: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["--from", "client"]
    words = ["agency", *said, digits] if between else ["agency", digits, *said]
    assert main(["explain-frame", *words]) == cli.REFUSED
    assert f"refused: {rule}" in capsys.readouterr().out


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
    ("words", "said"),
    [
        ([], "required: PROTOCOL"),
        (["agncy", "00"], "did you mean agency"),
        (["agency", "no-such-file"], "neither hexadecimal digits nor a file that is there"),
        (["agency", "abc"], "one is alone among the 3 that came"),
        (["agency", "/"], "/ cannot be read: Is a directory"),
        (["agency", "--from", "nobody"], "expected one of controller, worker"),
    ],
)
def test_a_command_line_that_makes_no_sense(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(words) == cli.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"", b"\n"])
def test_an_empty_input_is_nothing_to_explain(
    data: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert cli.run(["agency"]) == cli.USAGE
    assert "nothing came: expected" in capsys.readouterr().err


def test_a_recording_that_lacks_something_is_explained_and_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *lines = AGENCY.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut"
    cut.write_bytes(header.replace(b'"0.3"', b'"9.9"') + b"".join(lines)[:2000])
    assert cli.run(["agency", str(cut)]) == cli.REFUSED
    said = capsys.readouterr().out
    assert said.startswith("line 1:\n  refused: it was recorded with agency 9.9")
    assert said.endswith("refused: the recording is cut off here\n")
    assert "hello" in said
    assert cli.run(["agency", str(AGENCY)]) == cli.OK


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


@pytest.mark.limit("gateway/explain_frame/cli.DUMPED")
def test_of_a_frame_that_cannot_be_read_the_beginning_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["rvbox", "ff" * (cli.DUMPED + 7)]) == cli.REFUSED
    out = capsys.readouterr().out
    assert out.count("ff") == cli.DUMPED
    assert "… and 7 more" in out


@pytest.mark.limit("gateway/explain_frame/given.MOST")
def test_i9_no_more_is_read_than_a_frame_or_a_recording_may_have(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "MOST", 10)
    data = io.BytesIO(bytes(1000))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data))
    assert cli.run(["agency"]) == cli.USAGE
    assert "more than 10 bytes came" in capsys.readouterr().err
