"""What the kernel says of a process, read from `/proc`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from fleetgate.gateway.bench.task import BenchFailed

_USER: Final = 11
_SYSTEM: Final = 12
"""Places in `stat` behind the command's name, which is in brackets and may hold anything."""


def known() -> bool:
    """Whether this system says anything of its processes."""
    return Path("/proc/self/status").exists()


def cpu_seconds(pid: int) -> float:
    """Processor time of all its threads so far, in steps of a hundredth of a second.

    Raises: `BenchFailed`.
    """
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")


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
