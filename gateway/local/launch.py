"""How a run becomes a program to execute: argv, directory, environment, script file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from fleetgate.core.commands import RunSpec, Script, ShellCommand
from fleetgate.core.ids import RunId

SHELLS: Final = ("sh", "bash", "zsh")
"""The shells that are called as `SHELL -c LINE` and `SHELL FILE ARGS…`."""

MARK: Final = "FLEETGATE_RUN"
"""The environment variable that tells a command which run it is. It also proves, after a
crash, that a process that is still there belongs to that run."""


class CannotStart(Exception):
    """The run cannot be executed here; the text says why, without its arguments."""


@attrs.frozen(slots=True)
class Launch:
    """A program to execute. `script` is its file, if it is a script, to be removed after."""

    argv: tuple[str, ...] = attrs.field(repr=False)
    cwd: str
    environment: Mapping[str, str] = attrs.field(repr=False)
    takes_input: bool
    merge_stderr: bool
    script: Path | None = None


def available_shells() -> tuple[str, ...]:
    """The shells that this machine has; `none` needs nothing."""
    return ("none", *(shell for shell in SHELLS if shutil.which(shell)))


def takes_input(spec: RunSpec) -> bool:
    """Whether the command gets a standard input to read; else it reads nothing."""
    given = spec.input
    return spec.interactive or (isinstance(given, ShellCommand) and given.stdin is not None)


def prepare(run: RunId, spec: RunSpec, directory: str, scripts: Path) -> Launch:
    """Plan the run. `directory` is where relative and omitted working directories start;
    a script is written into `scripts`.

    Raises: `CannotStart`, and no file is left behind.
    """
    given = spec.input
    if not isinstance(given, ShellCommand):
        raise CannotStart("a local worker executes shell commands only")
    script = None if given.script is None else _write(given.script, scripts)
    try:
        argv = _argv(given, script)
    except CannotStart:
        discard(script)
        raise
    return Launch(
        argv=argv,
        cwd=os.path.join(directory, given.cwd),
        environment={**os.environ, **spec.environment, MARK: run},
        takes_input=takes_input(spec),
        merge_stderr=given.merge_stderr,
        script=script,
    )


def discard(script: Path | None) -> None:
    """Remove a script's file, if there is one."""
    if script is not None:
        script.unlink(missing_ok=True)


def _argv(given: ShellCommand, script: Path | None) -> tuple[str, ...]:
    shell = given.shell
    if shell not in ("", "none", *SHELLS):
        raise CannotStart(f"shell {shell} is not offered here; choose one of {', '.join(SHELLS)}")
    if script is not None and given.script is not None:
        program = () if shell in ("", "none") else (shell,)
        return (*program, str(script), *given.script.args)
    if given.line is not None:
        if shell == "none":
            raise CannotStart("a command line needs a shell; with shell none, give argv")
        return (shell or "sh", "-c", given.line)
    if not given.argv or not given.argv[0]:
        raise CannotStart("argv names no program; its first item is the program")
    return given.argv


def _write(script: Script, scripts: Path) -> Path:
    if script.data is None:
        raise CannotStart("the script's text is missing")
    try:
        descriptor, name = tempfile.mkstemp(prefix="run-", dir=scripts)
    except OSError as error:
        raise CannotStart(f"the script cannot be stored: {error.strerror}") from error
    path = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(script.data)
            os.fchmod(file.fileno(), 0o700)
    except OSError as error:
        discard(path)
        raise CannotStart(f"the script cannot be stored: {error.strerror}") from error
    return path
