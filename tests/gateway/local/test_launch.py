import hashlib
import os
import stat
from pathlib import Path

import pytest

from fleetgate.core.commands import Prompt, RunSpec, Script, ShellCommand
from fleetgate.core.ids import RunId
from fleetgate.gateway.local import launch
from fleetgate.gateway.local.launch import CannotStart, discard, prepare

RUN = RunId("gui/run-1")


def script(text: bytes, *args: str) -> Script:
    return Script(len(text), hashlib.sha256(text).digest(), args, text)


def plan(given: ShellCommand, scripts: Path, **spec: object) -> launch.Launch:
    return prepare(RUN, RunSpec(given, **spec), "/base", scripts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        (ShellCommand(line="a | b"), ("sh", "-c", "a | b")),
        (ShellCommand(line="a", shell="sh"), ("sh", "-c", "a")),
        (ShellCommand(line="a", shell="bash"), ("bash", "-c", "a")),
        (ShellCommand(line="a", shell="zsh"), ("zsh", "-c", "a")),
        (ShellCommand(argv=("a", "$b", "")), ("a", "$b", "")),
        (ShellCommand(argv=("a",), shell="none"), ("a",)),
    ],
)
def test_what_is_executed(given: ShellCommand, argv: tuple[str, ...], tmp_path: Path) -> None:
    assert plan(given, tmp_path).argv == argv


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (ShellCommand(line="a", shell="none"), "needs a shell"),
        (ShellCommand(line="a", shell="pwsh"), "pwsh is not offered"),
        (ShellCommand(argv=("",)), "names no program"),
        (ShellCommand(argv=()), "names no program"),
        (ShellCommand(), "names no program"),
        (ShellCommand(script=script(b"x"), shell="cmd"), "cmd is not offered"),
        (ShellCommand(script=Script(1, bytes(32))), "text is missing"),
    ],
)
def test_what_cannot_be_executed_leaves_no_file(
    given: ShellCommand, why: str, tmp_path: Path
) -> None:
    with pytest.raises(CannotStart, match=why):
        plan(given, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_shell_commands(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="shell commands only"):
        prepare(RUN, RunSpec(Prompt("hi")), "/base", tmp_path)


def test_a_script_is_a_private_executable_file(tmp_path: Path) -> None:
    made = plan(ShellCommand(script=script(b"#!/bin/sh\n", "x", "y z")), tmp_path)
    assert made.script is not None
    assert made.argv == (str(made.script), "x", "y z")
    assert made.script.read_bytes() == b"#!/bin/sh\n"
    assert stat.S_IMODE(made.script.stat().st_mode) == 0o700
    discard(made.script)
    discard(made.script)
    assert list(tmp_path.iterdir()) == []


def test_a_script_is_given_to_the_shell_that_is_named(tmp_path: Path) -> None:
    made = plan(ShellCommand(script=script(b"", "x"), shell="bash"), tmp_path)
    assert made.argv == ("bash", str(made.script), "x")


def test_a_script_that_cannot_be_stored(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="stored: No such file"):
        plan(ShellCommand(script=script(b"x")), tmp_path / "absent")


def test_a_script_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(CannotStart, match="No space left"):
        plan(ShellCommand(script=script(b"x")), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_environment_is_added_to_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("CHANGED", "1")
    made = plan(ShellCommand(line="a"), tmp_path, environment={"CHANGED": "2", "NEW": "3"})
    changed = {"CHANGED": "2", "NEW": "3", "FLEETGATE_RUN": RUN}
    assert made.environment == {**os.environ, **changed}
    assert made.environment["KEPT"] == "1"


@pytest.mark.parametrize(
    ("cwd", "where"), [("", "/base/"), ("sub/dir", "/base/sub/dir"), ("/abs", "/abs")]
)
def test_working_directory(cwd: str, where: str, tmp_path: Path) -> None:
    assert plan(ShellCommand(line="a", cwd=cwd), tmp_path).cwd == where


def test_who_gets_an_input(tmp_path: Path) -> None:
    assert not plan(ShellCommand(line="a"), tmp_path).takes_input
    assert plan(ShellCommand(line="a", stdin=b""), tmp_path).takes_input
    assert plan(ShellCommand(line="a"), tmp_path, interactive=True).takes_input


def test_available_shells_are_those_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "zsh").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launch.available_shells() == ("none", "zsh")


def test_no_payload_in_its_representation(tmp_path: Path) -> None:
    made = plan(ShellCommand(line="secret"), tmp_path, environment={"TOKEN": "secret"})
    assert "secret" not in repr(made)
