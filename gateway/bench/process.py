"""What the kernel says of a process: by its clock, and in `/proc`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from fleetgate.gateway.bench.task import BenchFailed

_SCHED: Final = 2
"""The clock of a process on Linux is its id with all bits turned over, and in three bits behind
that what it counts: 2 is the time that its threads ran (`clock_getcpuclockid`)."""


def known() -> bool:
    """Whether this system says anything of its processes."""
    return Path("/proc/self/status").exists()


def cpu_seconds(pid: int) -> float:
    """Processor time of all its threads so far, to the nanosecond. (`/proc` has hundredths of a
    second, of which a short trial takes six.)

    Raises: `BenchFailed`.
    """
    try:
        return time.clock_gettime((~pid << 3) | _SCHED)
    except OSError as error:
        raise BenchFailed(
            f"the clock of process {pid} cannot be read ({error.strerror}); the subject has ended?"
        ) from error


def peak_rss(pid: int) -> int:
    """The most bytes of memory that it ever had at a time.

    Raises: `BenchFailed`.
    """
    for line in _read(pid, "status").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    raise BenchFailed(f"/proc/{pid}/status names no VmHWM; the bench needs Linux")


def rss(pid: int) -> int:
    """Bytes of memory that it has now.

    Raises: `BenchFailed`.
    """
    return int(_read(pid, "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _read(pid: int, name: str) -> str:
    path = Path(f"/proc/{pid}/{name}")
    try:
        return path.read_text()
    except OSError as error:
        raise BenchFailed(
            f"{path} cannot be read ({error.strerror}); the subject has ended?"
        ) from (error)
