"""The command line: which command, what is imported for it, and its exit code."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from fleetgate import __version__
from fleetgate.gateway import cli
from fleetgate.gateway.cli import main


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["check"],
        ["serve"],
        ["tail"],
        ["tail", "r", "--after", "-1"],
        ["tail", "r", "--after=-1"],
        ["signal", "r", "x"],
        ["run", "--timeout", "nan", "--line", "x"],
        ["run", "--timeout=-1", "--line", "x"],
        ["run", "--name", "a/b", "--line", "x"],
    ],
)
def test_what_makes_no_sense_is_exit_code_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert "usage: gateway" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["rnu"], "there is no command 'rnu'; did you mean run?"),
        (["zzz", "--x"], "there is no command 'zzz'; `gateway --help` lists them"),
        (["run", "uname", "-a"], "-a; a program and its own options stand behind --, as in: ga"),
        (
            ["runs", "--al"],
            "gateway runs: error: unrecognized arguments: --al; did you mean --all?",
        ),
        ([], "start a run and follow it"),
    ],
)
def test_a_wrong_word_is_told_what_is_right(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert said in capsys.readouterr().err


def test_the_version_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fleetgate {__version__}\n"


@pytest.mark.parametrize("words", [["--", "ls", "-l"], ["--quiet", "--", "ls", "-l"]])
def test_a_program_to_run_keeps_its_own_options(words: list[str]) -> None:
    made = cli.make_parser().parse_args(["run", *words])
    assert made.command == ["ls", "-l"]


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    wanted = (
        "serve check demo bench fake status workers runs run tail send approve cancel signal "
        "drain version tck explain-frame"
    )
    listed = re.findall(r"^    ([\w-]+) +\S.*$", text, re.MULTILINE)
    assert set(wanted.split()) <= set(listed)
    rows = text.partition("COMMAND\n")[2].partition("\n\n")[0].splitlines()
    assert len(rows) == len(listed)  # each in one line


def test_what_asks_a_gateway_has_json_and_ways_to_find_it() -> None:
    with_words = ["tail r", "send r x", "approve r", "cancel r", "signal r kill"]
    for line in ["status", "workers", "runs", "run", "drain", *with_words]:
        made = cli.make_parser().parse_args([*line.split(), "--json", "--admin", "unix:s"])
        assert (made.json, made.admin) == (True, "unix:s")
    for line in ("check f", "version"):
        assert cli.make_parser().parse_args([*line.split(), "--json"]).json


@pytest.mark.parametrize("name", ["fake", "demo", "bench"])
def test_commands_with_a_command_line_of_their_own_get_all_of_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def run(argv: list[str]) -> int:
        seen.append(argv)
        return 7

    module = types.SimpleNamespace(run=run)
    monkeypatch.setattr(cli, "import_module", lambda _: module)
    assert main([name, "rvbox-client", "--help", "--json"]) == 7
    assert seen == [["rvbox-client", "--help", "--json"]]


def _program(*words: str, code: str = "") -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", code] if code else [sys.executable, "-m", "fleetgate.gateway.cli"]
    return subprocess.run([*argv, *words], capture_output=True, text=True, check=False)


def test_a_short_command_imports_little() -> None:
    code = (
        "import sys; from fleetgate.gateway.cli import main; code = main(['version']); "
        "print(sorted({'attrs', 'trio', 'structlog', 'rich', 'cattrs', 'google.protobuf', 'ssl'}"
        " & set(sys.modules))); sys.exit(code)"
    )
    ended = _program(code=code)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_is_gone_is_no_traceback(tmp_path: object) -> None:
    code = (
        "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); "
        "from fleetgate.gateway.cli import main; sys.exit(main(['version', '--json']))"
    )
    ended = _program(code=code)
    assert ended.returncode == 1
    assert ended.stderr == ""


RECORDING = Path(__file__).parents[1] / "transcripts" / "agency.jsonl"


@pytest.mark.parametrize("option", ["", "-u"])
@pytest.mark.parametrize(
    "words",
    [["version"], ["replay", str(RECORDING), "--as", "daemon", "--listen", "unix:d/s", "--json"]],
)
def test_a_full_disk_behind_the_output_is_said(
    tmp_path: Path, option: str, words: list[str]
) -> None:
    """At the write, which may be in a nursery, or where all was small enough to wait for the
    end."""
    code = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
        f"os.dup2(os.open({str(tmp_path / 'out')!r}, os.O_WRONLY | os.O_CREAT), 1); "
        f"from fleetgate.gateway.cli import main; sys.exit(main({words!r}))"
    )
    argv = [sys.executable, *filter(None, [option]), "-c", code]
    ended = subprocess.run(argv, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr == "gateway: standard output cannot be written: File too large\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--admin", "unix:/nobody/here", "status", "--json"],
        ["--admin=unix:/nobody/here", "status"],
        ["--json", "--admin", "unix:/nobody/here", "tail", "r"],
    ],
)
def test_options_may_stand_before_the_command(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 3
    assert "no gateway answers at unix:/nobody/here" in capsys.readouterr().err


def test_an_option_alone_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--admin", "unix:/x"]) == 2
    assert "usage: gateway" in capsys.readouterr().err


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", lambda _: types.SimpleNamespace(run=run))
    assert main(["version"]) == 130


def test_it_runs_as_a_module() -> None:
    ended = _program("version")
    assert ended.returncode == 0
    assert ended.stdout.startswith("fleetgate ")
