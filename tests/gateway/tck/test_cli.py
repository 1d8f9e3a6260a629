"""`gateway tck`: the command line, and a whole round with a real process."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from xml.etree import ElementTree

import attrs
import pytest

from fleetgate.gateway.cli import main
from fleetgate.gateway.tck import cli
from fleetgate.gateway.tck.kits import all_kits
from fleetgate.gateway.tck.requirement import Kit

FAKE = f"{sys.executable} -P -m fleetgate fake"


def test_it_is_a_command_of_gateway(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tck", "--help"]) == cli.OK
    assert "agency     daemon" in capsys.readouterr().out
    assert main(["tck"]) == cli.USAGE


@pytest.mark.parametrize(
    "words",
    [
        ["agncy", "daemon"],
        ["agency", "deamon"],
        ["agency", "daemon"],
        ["agency", "daemon", "--target", "unix:/x", "--only", "NONE-1"],
        ["agency", "daemon", "--target", "unix:/x", "--set", "colour=red"],
        ["agency", "daemon", "--target", "unix:/x", "--within", "-1"],
        ["agency", "daemon", "--target", "unix:/x", "--json", "--junit"],
        ["agency", "daemon", "--target", "unix:/x", "--start", "sh -c 'exit"],
        ["agency", "daemon", "--target", "unix:/x", "--start", " "],
        ["agency", "client", "--target", "unix:/x", "--on", "run='"],
    ],
)
def test_a_command_line_that_makes_no_sense(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(words) == cli.USAGE
    assert capsys.readouterr().err


@pytest.mark.parametrize("kit", all_kits(), ids=[kit.prefix for kit in all_kits()])
def test_each_kit_says_what_it_must_be_given(kit: Kit) -> None:
    text = cli.make_parser(kit).format_help()
    assert "--target ADDRESS" in text
    assert all(f"--{name.replace('_', '-')}" in text for name in attrs.fields_dict(kit.given))


@pytest.mark.parametrize("kit", all_kits(), ids=[kit.prefix for kit in all_kits()])
def test_each_token_may_stay_off_the_command_line(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("hush\n")
    parser = cli.make_parser(kit)
    for name in (name for name in attrs.fields_dict(kit.given) if name.endswith("token")):
        option = f"--{name.replace('_', '-')}"
        given = cli.given_of(kit, parser.parse_args([f"{option}-file", str(path)]))
        assert getattr(given, name) == "hush"
        with pytest.raises(SystemExit):
            parser.parse_args([option, "t", f"{option}-file", str(path)])


@pytest.mark.parametrize("address", ["nonsense", "ws://", "unix:"])
def test_an_address_that_cannot_be_used(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["agency", "daemon", "--target", address]) == cli.CANNOT_START
    assert "gateway tck:" in capsys.readouterr().err


def test_the_list_is_words_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["agency", "daemon", "--list", "--only", "hello"]) == cli.OK
    assert "AGENCY-D-020 must" in capsys.readouterr().out
    assert cli.run(["agency", "daemon", "--list", "--json"]) == cli.OK
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["tier"] for line in lines} == {"must", "should", "info"}


def test_a_dead_target_fails_each_requirement_and_the_whole(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["agency", "daemon", "--target", f"unix:{folder}/s", "--only", "hello"]
    assert cli.run(words) == cli.BROKEN
    out = capsys.readouterr().out
    assert "must: 0 pass, 8 fail, 0 skip" in out
    assert "does the target run, and is this where it listens?" in out


@pytest.mark.parametrize("side", ["daemon", "client"])
@pytest.mark.parametrize("only", [[], ["--only", "AGENCY-?-001"]])
def test_a_start_command_that_cannot_be_run_is_said_once(
    side: str, only: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["agency", side, "--target", f"unix:{folder}/s", *only]
    assert cli.run([*words, "--start", "nosuchcmd --x"]) == cli.CANNOT_START
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "gateway tck: --start: nosuchcmd cannot be run: No such file or directory; name a program "
        "that is on PATH, or by its path; no shell reads the command\n"
    )


@pytest.mark.parametrize("side", ["daemon", "client"])
def test_a_started_target_that_is_gone_is_said(
    side: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["agency", side, "--target", f"unix:{folder}/s", "--only", "AGENCY-?-001"]
    patience = ["--arrive", "1" if side == "client" else "60"]
    start = f"{sys.executable} -c raise(SystemExit(7))"
    assert cli.run([*words, *patience, "--start", start]) == cli.BROKEN
    assert "the command of --start ended with exit code 7" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("protocol", "side", "scheme", "id"),
    [("rvbox", "server", "ws", "RVBOX-S-001"), ("iop", "edge", "grpc", "IOP-E-001")],
)
def test_a_target_that_takes_connections_and_is_silent_costs_no_more_than_it_may(
    protocol: str, side: str, scheme: str, id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        words = ("--target", target, "--only", id, "--within", "0.2")
        assert cli.run([protocol, side, *words]) == cli.BROKEN
    assert "did not answer within 0.2 s" in capsys.readouterr().out


def test_a_real_daemon_is_started_and_examined(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--only", "AGENCY-D-020", "--only", "AGENCY-D-090", "--only", "AGENCY-D-060"]
    words = ["agency", "daemon", "--target", f"unix:{folder}/s", *only]
    start = f"{FAKE} agency-daemon --socket {folder}/s"
    assert cli.run([*words, "--start", start, "--json"]) == cli.UNPROVEN
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["id"]: line["verdict"] for line in lines[:-1]} == {
        "AGENCY-D-020": "pass",
        "AGENCY-D-060": "skip",
        "AGENCY-D-090": "pass",
    }
    assert lines[-1]["exit_code"] == cli.UNPROVEN
    assert "--hold-prompt" in lines[1]["reason"]


def test_junit_goes_to_stdout_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["agency", "daemon", "--target", f"unix:{folder}/s", "--only", "AGENCY-D-020"]
    assert cli.run([*words, "--junit"]) == cli.BROKEN
    suite = ElementTree.fromstring(capsys.readouterr().out)[0]
    assert suite.get("failures") == "1"
