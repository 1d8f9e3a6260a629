"""What a bench ran on."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import attrs

import fleetgate
from fleetgate.gateway.bench.figures import percentile

PACKAGES: Final = ("trio", "trio-websocket", "wsproto", "attrs", "protobuf")
"""Those on an event's way."""

HERE: Final = Path(fleetgate.__file__).parent

RESULTS: Final = (":(top,exclude)docs/performance.json", ":(top,exclude)docs/performance.md")
"""What a bench itself writes; in git's words."""

SYNCS: Final = 100
"""Writes that are made durable to see what that takes here."""


@attrs.frozen(slots=True)
class Machine:
    """Facts without which a figure cannot be compared. `sync_p50` and `sync_p99`: microseconds to
    append 4 KiB to a file where the journals are and to have it on the disk. `commit`: of the
    checkout, with `+` where it was changed since; None outside of one."""

    system: str
    processor: str
    processors: int
    memory: int
    load: tuple[float, float, float]
    file_system: str
    sync_p50: float
    sync_p99: float
    python: str
    sqlite: str
    packages: dict[str, str]
    fleetgate: str
    commit: str | None


def machine(disk: Path, commit: str | None) -> Machine:
    """This machine, with journals in the directory `disk`; the commit is of `commit_of` before
    anything was written.

    Raises: `OSError`: nothing can be written there.
    """
    syncs = sync_times(disk)
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=_processor(),
        processors=len(os.sched_getaffinity(0)),
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        load=os.getloadavg(),
        file_system=_file_system(disk),
        sync_p50=percentile(syncs, 50) / 1000,
        sync_p99=percentile(syncs, 99) / 1000,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        sqlite=sqlite3.sqlite_version,
        packages={name: _version(name) for name in PACKAGES},
        fleetgate=fleetgate.__version__,
        commit=commit,
    )


def sync_times(disk: Path, count: int = SYNCS) -> list[int]:
    """Nanoseconds of so many durable writes. Nothing is left in the directory.

    Raises: `OSError`.
    """
    path = disk / f"sync-{os.getpid()}"
    times: list[int] = []
    try:
        with path.open("wb", buffering=0) as file:
            for _ in range(count):
                begun = time.monotonic_ns()
                file.write(bytes(4096))
                os.fdatasync(file.fileno())
                times.append(time.monotonic_ns() - begun)
    finally:
        path.unlink(missing_ok=True)
    return times


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or "unknown"


def _file_system(disk: Path) -> str:
    """The kind of file system: that of the longest mount point above `disk`."""
    where = disk.resolve()
    mounts = [line.split() for line in _lines("/proc/mounts")]
    above = [
        (mount[1], mount[2])
        for mount in mounts
        if len(mount) > 2 and where.is_relative_to(mount[1])
    ]
    return max(above, key=lambda each: len(each[0]), default=("", "unknown"))[1]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def commit_of(directory: Path = HERE) -> str | None:
    """The commit of a checkout, with `+` where something there was changed since, but for results;
    None where it is none."""
    head = _git(directory, "rev-parse", "HEAD")
    if head is None:
        return None
    changed = _git(directory, "status", "--porcelain", "--", ":/", *RESULTS)
    return f"{head}+" if changed else head


def _git(directory: Path, *args: str) -> str | None:
    try:
        ran = subprocess.run(
            ("git", "-C", str(directory), *args), capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None


def invocation() -> list[str]:
    """How the bench was called."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]
