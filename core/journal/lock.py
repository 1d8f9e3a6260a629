"""One process at a time: a lock beside a journal's file, gone when its holder is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fleetgate.core.journal.api import JournalLocked


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock of the journal at `path`. Its file, `path` and `.lock`, stays behind
    and names the holder's process: removing it would let two hold two files of one name.

    Raises: `JournalLocked`; `OSError` where the file cannot be made.
    """
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
        os.truncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)
