"""One process at a time: a lock beside a journal's file, gone when its holder is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fleetgate.core.journal.api import JournalError, JournalLocked


@contextmanager
def locked(path: Path) -> Generator[Path]:
    """Hold the lock of the journal at `path`, and tell its path without symbolic links: a journal
    that has two names has one lock. Its file, that path and `.lock`, stays behind and names the
    holder's process: removing it would let two hold two files of one name.

    Raises: `JournalLocked`; `JournalError` where it has several names of its own, which are told
    apart by no lock, nor by SQLite; `OSError` where the file cannot be made.
    """
    path = path.resolve()
    file = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(file, 32).decode(errors="replace").strip() or "unknown"
            raise JournalLocked(
                f"the journal {path} is in use by process {holder}; stop that one, "
                "or give this one a journal of its own"
            ) from None
        if path.exists() and path.stat().st_nlink > 1:
            raise JournalError(
                f"the journal {path} has more than one name (hard links), and two programs could "
                "write to it unnoticed; remove the other names, or copy the file"
            )
        os.truncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield path
    finally:
        os.close(file)
