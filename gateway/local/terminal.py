"""Programs on a pseudo-terminal of their own."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import termios
from fcntl import ioctl
from pathlib import Path
from typing import Final

import attrs
import trio

from fleetgate.gateway.local import on_terminal
from fleetgate.gateway.local.launch import CannotStart, Launch
from fleetgate.gateway.local.process import LONGEST_PATH, ProcessGroup, spawn

ROWS: Final = 24
COLUMNS: Final = 80
"""What programs take for granted where nothing tells them otherwise."""

LONGEST_LINE: Final = 4095
"""Bytes of a line that Linux's terminals take, its end included, while they gather lines."""

END: Final = b"\x04"
"""Control-D: the end of the input, for a program whose terminal gathers lines."""


async def spawn_on_terminal(launch: Launch, *, gathers_lines: bool) -> ProcessGroup:
    """Execute it on a new terminal, which is its standard input, output and error, and of whose
    session it is the leader. Nothing that is written to it is echoed, and no byte of it is a
    signal. `gathers_lines`: it hands over whole lines of up to `LONGEST_LINE`, and `END` ends the
    input; without it bytes are handed over as they come.

    Raises: `CannotStart`. Cancelled, nothing runs.
    """
    program = _found(launch)
    shim = (sys.executable, "-I", "-S", str(Path(on_terminal.__file__)), program)
    ours, theirs = os.openpty()
    master = trio.lowlevel.FdStream(ours)
    try:
        _set_up(theirs, gathers_lines=gathers_lines)
        shimmed = attrs.evolve(launch, argv=(*shim, *launch.argv[1:]))
        group = await spawn(shimmed, terminal=theirs)
    except BaseException:
        await _close(master)
        raise
    finally:
        os.close(theirs)
    group.stdin = group.stdout = master
    return group


async def _close(stream: trio.lowlevel.FdStream) -> None:
    with trio.CancelScope(shield=True):
        await stream.aclose()


def _found(launch: Launch) -> str:
    """The program's path: the one that stands between could tell nobody that there is none."""
    program = launch.argv[0]
    if os.sep in program:
        found = shutil.which(os.path.join(launch.cwd, program))
    else:
        found = shutil.which(program, path=launch.environment.get("PATH", os.defpath))
    if found is None:
        shown = program[:LONGEST_PATH]
        raise CannotStart(f"the program {shown!r} cannot be executed: there is none (ENOENT)")
    return found


def _set_up(terminal: int, *, gathers_lines: bool) -> None:
    modes = termios.tcgetattr(terminal)
    modes[0] &= ~(termios.IXON | termios.ICRNL | termios.INLCR)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~(termios.ECHO | termios.ISIG | termios.IEXTEN)
    if not gathers_lines:
        modes[3] &= ~termios.ICANON
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))


def unfit(prompt: bytes, *, gathers_lines: bool) -> str | None:
    """Why a prompt cannot be written to a terminal, if it cannot. To a terminal control characters
    are commands: one that quits a program, one that edits its line."""
    if any((byte < 32 and byte not in b"\n\t") or byte == 127 for byte in prompt):
        return "the prompt holds control characters, which are commands to a terminal"
    if gathers_lines and any(len(line) >= LONGEST_LINE for line in prompt.split(b"\n")):
        return (
            f"a line of the prompt has {LONGEST_LINE} bytes or more, which a terminal does not "
            "take; use mode argument, or no terminal"
        )
    return None
