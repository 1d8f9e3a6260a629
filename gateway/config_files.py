"""Files that a config names, and the config itself: only regular ones are opened.

Opening a named pipe waits for whoever writes to it, and reading a device may never end.
"""

from __future__ import annotations

import errno
import os
import stat


def read_regular(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a regular file.

    Raises: `OSError`, whose `strerror` is fit for people.
    """
    # Without O_NONBLOCK the opening of a pipe itself would wait. On a regular file it is nothing.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if reason := _oddity(os.fstat(file.fileno())):
            raise OSError(errno.EINVAL, reason)
        return file.read(limit)


def irregular(path: str) -> str | None:
    """What speaks against opening a file that is there, without opening it; None also where
    there is none."""
    try:
        return _oddity(os.stat(path))
    except OSError:
        return None


def _oddity(found: os.stat_result) -> str | None:
    if stat.S_ISREG(found.st_mode):
        return None
    return "Is a directory" if stat.S_ISDIR(found.st_mode) else "it is not a regular file"
