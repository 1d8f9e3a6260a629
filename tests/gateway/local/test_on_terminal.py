"""What stands between fork and exec is a program of its own, and needs nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fleetgate.gateway.local import on_terminal

SHIM = (sys.executable, "-I", "-S", str(Path(on_terminal.__file__)))


def run_on_terminal(*argv: str) -> tuple[int, bytes]:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*SHIM, *argv], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    code = process.wait()
    data = os.read(ours, 1024)
    os.close(ours)
    return code, data


def test_the_program_takes_its_place_with_its_arguments_as_they_are() -> None:
    code, data = run_on_terminal("sh", "-c", 'printf %s "$0:$1" > /dev/tty; exit 3', "a b", "*")
    assert (code, data) == (3, b"a b:*")


def test_one_that_has_gone_meanwhile_is_told_as_a_shell_does() -> None:
    code, data = run_on_terminal("/none")
    assert code == 127
    assert b"No such file" in data


def test_without_a_terminal_it_does_not_go_on() -> None:
    done = subprocess.run([*SHIM, "echo", "no"], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode != 0
    assert done.stdout == b""
