"""A program in a process group of its own, and what is left of one after a crash."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import signal
import subprocess
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypedDict

import attrs
import trio

from fleetgate.core.ids import RunId
from fleetgate.core.json import Json
from fleetgate.gateway.local.launch import MARK, CannotStart, Launch

STOP_WITHIN: Final = 2.0
"""Seconds from TERM to KILL when this program itself is stopped: a service manager gives
us only some seconds in all."""

DEAD_WITHIN: Final = 5.0
"""Seconds in which a killed process is gone. Only one stuck in the kernel takes longer, and
nothing can be done about that one."""


class _Ends(TypedDict):
    """What a program's three streams are joined to."""

    stdin: int
    stdout: int
    stderr: int


LONGEST_PATH: Final = 4096
"""Characters of a program's path that are repeated: Linux takes no longer one."""


class ProcessGroup:
    """A program that was started, the leader of its group.

    The leader is not reaped before `reap`: until then its number cannot be given to another
    process, so a signal to the group never meets a stranger.
    """

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self._reaped = False
        self.pid = process.pid
        self.stdin = process.stdin
        self.stdout = _pipe(process.stdout)
        self.stderr = _pipe(process.stderr)

    def note(self) -> Json:
        """What finds the group again after a crash, and proves that it is the same one."""
        return {"pid": self.pid, "start": start_time(self.pid), "boot": boot_id()}

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to the whole group; False: it is not ours to signal (it changed user).
        A group that is gone needs none."""
        return self._reaped or _signal_group(self.pid, number)

    async def wait_ended(self) -> None:
        """Wait until the leader has ended. It stays to be reaped."""
        descriptor = os.pidfd_open(self.pid)
        try:
            await trio.lowlevel.wait_readable(descriptor)
        finally:
            trio.lowlevel.notify_closing(descriptor)
            os.close(descriptor)

    async def reap(self) -> int:
        """Forget the ended leader. Its exit code, or minus the number of the signal that it
        died of."""
        code = await self._process.wait()
        self._reaped = True
        return code

    async def stop(self) -> None:
        """End the group: TERM, then KILL after `STOP_WITHIN`. Shielded from cancellation and
        bounded; does nothing for one that was reaped. Closes our ends of its pipes."""
        with trio.CancelScope(shield=True):
            for stream in (self.stdin, self.stdout, self.stderr):
                if stream is not None:
                    await stream.aclose()
            if self._reaped:
                return
            self.signal(signal.SIGTERM)
            with trio.move_on_after(STOP_WITHIN):
                await self.wait_ended()
            self.signal(signal.SIGKILL)
            with trio.move_on_after(DEAD_WITHIN):
                await self.reap()


def _pipe(stream: trio.abc.ReceiveStream | None) -> trio.lowlevel.FdStream | None:
    if stream is None or isinstance(stream, trio.lowlevel.FdStream):
        return stream
    raise TypeError(f"a POSIX pipe was expected, not {type(stream).__name__}")


async def spawn(launch: Launch, terminal: int | None = None) -> ProcessGroup:
    """Execute it, with pipes, or with `terminal` (a descriptor, which stays the caller's) as its
    input and output.

    Raises: `CannotStart`. Cancelled, nothing runs.
    """
    try:
        process = await trio.lowlevel.open_process(
            list(launch.argv),
            **(_pipes(launch) if terminal is None else _ends(terminal)),
            start_new_session=True,
            cwd=launch.cwd,
            env=launch.environment,
        )
    except OSError as error:
        raise CannotStart(_words(error, launch)) from error
    except ValueError as error:
        text = "an argument or a variable holds what no program can be given, such as NUL"
        raise CannotStart(text) from error
    return ProcessGroup(process)


def _pipes(launch: Launch) -> _Ends:
    return {
        "stdin": subprocess.PIPE if launch.takes_input else subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT if launch.merge_stderr else subprocess.PIPE,
    }


def _ends(terminal: int) -> _Ends:
    return {"stdin": terminal, "stdout": terminal, "stderr": terminal}


def _words(error: OSError, launch: Launch) -> str:
    name = errno.errorcode.get(error.errno or 0, "error")
    reason = f"{error.strerror} ({name})"
    if error.filename == launch.cwd != launch.argv[0]:
        return f"the working directory cannot be used: {reason}"
    if launch.script is not None and launch.argv[0] == str(launch.script):
        return f"the script cannot be executed: {reason}"
    return f"the program {launch.argv[0][:LONGEST_PATH]!r} cannot be executed: {reason}"


def left_in(stream: trio.lowlevel.FdStream) -> Iterator[bytes]:
    """What a pipe holds right now, in pieces, without waiting; not what is written later."""
    waiting = array.array("i", [0])
    fcntl.ioctl(stream.fileno(), termios.FIONREAD, waiting)
    while waiting[0] > 0:
        data = os.read(stream.fileno(), min(waiting[0], 64 * 1024))
        waiting[0] -= len(data)
        yield data


# --- after a crash


@attrs.frozen(slots=True)
class _Stat:
    group: int
    start: int


def boot_id() -> str:
    """Tells one start of this machine from another; process start times count from it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot. None: there is no such process."""
    stat = _stat(pid)
    return None if stat is None else stat.start


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in parentheses and may hold anything.
    fields = text.rpartition(b")")[2].split()
    return _Stat(group=int(fields[2]), start=int(fields[19]))


def kill_recorded(run: RunId, note: Json) -> bool:
    """Kill the group that `ProcessGroup.note` describes, if it is still there. True: it was.

    Only what is proven to be of that run is killed: a leader by its start time, and where
    the leader is gone, a member of its group by the run's mark in its environment.
    """
    if not isinstance(note, Mapping) or note.get("boot") != boot_id():
        return False
    pid, start = note.get("pid"), note.get("start")
    if not isinstance(pid, int) or pid <= 1:
        return False
    leader = _stat(pid)
    if leader is not None:
        ours = leader.group == pid and leader.start == start
    else:
        ours = any(_is_marked(member, run) for member in _members(pid))
    return ours and _signal_group(pid, signal.SIGKILL)


def _members(group: int) -> Iterator[int]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            stat = _stat(int(entry))
            if stat is not None and stat.group == group:
                yield int(entry)


def _is_marked(pid: int, run: RunId) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return os.fsencode(f"{MARK}={run}") in environment.split(b"\0")


def _signal_group(group: int, number: signal.Signals) -> bool:
    """Stopped for that moment, all of them have the signal before one of them acts on it.
    Otherwise a shell that sees its child die of it could go on, or exit, before its own
    signal comes."""
    try:
        for each in (signal.SIGSTOP, number, signal.SIGCONT):
            os.killpg(group, each)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True
