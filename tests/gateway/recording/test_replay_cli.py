"""The command line of `gateway replay`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetgate.gateway.recording.replay_cli import make_parser, run

AGENCY = Path(__file__).parents[2] / "transcripts" / "agency.jsonl"
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "recordings.md"


def test_a_peer_that_does_not_come_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--as", "daemon", "--listen", f"unix:{tmp_path}/s", "--timeout", "0.05")
    assert run([str(AGENCY), *words]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"listening at unix:{tmp_path}/s"
    assert said[1].endswith("link 1: expected a link, got nothing within 0.05 s")
    assert run([str(AGENCY), *words, "--json"]) == 1
    ready, played = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready == {"event": "ready", "address": f"unix:{tmp_path}/s"}
    assert (played["event"], played["frames"]) == ("played", 0)
    assert played["difference"]["expected"] == "a link"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--as", "client", "--connect", "unix:/nowhere/s"), 3, "cannot be reached"),
        (("--as", "daemon", "--listen", f"unix:{AGENCY}/s"), 3, "is no directory"),
        (("--as", "client", "--listen", "unix:/nowhere/s"), 2, "say --connect"),
        (("--as", "daemon", "--connect", "unix:/nowhere/s"), 2, "say --listen"),
        (("--as", "nobody", "--connect", "unix:/nowhere/s"), 2, "no such side"),
        (("--as", "client", "--connect", "nonsense"), 2, "nonsense"),
        (("--as", "client"), 2, "--connect --listen is required"),
        (("--as", "client", "--connect", "x", "--strict", "--match-shape"), 2, "not allowed with"),
        (("--as", "client", "--connect", "x", "--link", "7"), 2, "holds no link 7; it has 1"),
    ],
)
def test_what_cannot_be_played_is_said(
    words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(AGENCY), *words]) == code
    assert said in capsys.readouterr().err


def test_a_token_may_stay_off_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hush\n")
    words = ("x.jsonl", "--as", "client", "--connect", "unix:/nowhere/s")
    for token in (("--token", "hush"), ("--token-file", f"{tmp_path}/token")):
        assert make_parser().parse_args([*words, *token]).token == "hush"


def test_a_recording_that_is_cut_off_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(AGENCY.read_bytes()[:3000])
    words = ("--as", "client", "--connect", "unix:/nowhere/s")
    assert run([str(cut), *words]) == 2
    assert "--partial plays what is before that" in capsys.readouterr().err
    assert run([str(cut), *words, "--partial"]) == 3


def test_the_page_has_every_option() -> None:
    page = PAGE.read_text()
    for action in make_parser()._actions:
        for option in action.option_strings:
            assert not option.startswith("--") or option == "--help" or f"`{option}" in page, option
