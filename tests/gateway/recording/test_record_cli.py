"""The command line of `gateway record`, as a process between two peers on a real socket."""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fleetgate.gateway.recording.record_cli import make_parser, run

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "recordings.md"


def test_it_records_until_a_signal_comes(tmp_path: Path) -> None:
    """The peer behind it is not there: the link is recorded with its end."""
    file = tmp_path / "r.jsonl"
    words = ("--listen", f"unix:{tmp_path}/d/s", "--connect", f"unix:{tmp_path}/none")
    program = [sys.executable, "-P", "-m", "fleetgate", "record", str(file), *words]
    with subprocess.Popen(
        [*program, "--protocol", "agency", "--json"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "ready"
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"{tmp_path}/d/s")
            assert link.recv(1) == b""
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line.get("event") for line in lines] == [None, "link", "over", "end"]


def test_a_disk_that_is_full_is_said_and_is_no_success(tmp_path: Path) -> None:
    words = ("--listen", f"unix:{tmp_path}/d/s", "--connect", f"unix:{tmp_path}/none")
    file = str(tmp_path / "r.jsonl")
    program = [sys.executable, "-P", "-B", "-m", "fleetgate", "record", file, *words]
    with subprocess.Popen(
        [*program, "--protocol", "agency", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "ready"
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"{tmp_path}/d/s")
            assert link.recv(1) == b""  # who talks is not held up
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 1
    assert "nothing more is recorded" in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--protocol", "agancy"), 2, "did you mean agency?"),
        (("--protocol", "agency", "--listen", "nonsense"), 2, "nonsense"),
        (("--protocol", "agency", "--strange"), 2, "unrecognized arguments"),
    ],
)
def test_a_bad_command_line_is_said(
    words: tuple[str, ...],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(tmp_path / "r.jsonl")
    assert run([file, "--listen", "memory:a", "--connect", "memory:b", *words]) == code
    assert said in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--listen", "tcp://127.0.0.1:0", "--connect", "tcp://h:1", "--protocol", "agency")
    assert run([str(tmp_path), *words]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("protocol", "listen", "connect", "said"),
    [
        ("rvbox", "ws://127.0.0.1:0/a", "grpc://h:1", "rvbox is not carried over gRPC; use unix:"),
        ("rvbox", "grpc://127.0.0.1:0", "ws://h:1/a", "rvbox is not carried over gRPC; use unix:"),
        ("agency", "grpc://127.0.0.1:0", "unix:/s", "agency is not carried over gRPC; use unix:"),
        ("kodelet", "unix:/tmp/d/s", "ws://h:1/a", "kodelet is not carried over a stream of by"),
        ("agency", "stdio:", "memory:a", "'stdio:' is no address: wanted one of unix:"),
        ("agency", "tcp://127.0.0.1:0", "memory:a", "'memory:a' is no address: wanted one of"),
        ("agency", "tcp://127.0.0.1:0", "tcp://h:0", "port 0 is for listening"),
    ],
)
def test_where_it_cannot_stand_is_said_before_it_stands_there(
    protocol: str,
    listen: str,
    connect: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ["--listen", listen, "--connect", connect]
    assert run([str(tmp_path / "r"), *where, "--protocol", protocol]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert "methods" not in told.err
    assert "stdio:," not in told.err
    assert told.out == ""


def test_the_page_has_every_option() -> None:
    page = PAGE.read_text()
    for action in make_parser()._actions:
        for option in action.option_strings:
            assert not option.startswith("--") or option == "--help" or f"`{option}" in page, option
