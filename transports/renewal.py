"""A listener's certificate, read anew when its files change: whoever shakes hands next meets it."""

from __future__ import annotations

import os
import ssl
import stat
from collections.abc import Callable
from typing import TypeAlias

from fleetgate.transports.api import AddressError, ListenFailed, Options, TlsFiles
from fleetgate.transports.serving import log_report

_Seen: TypeAlias = tuple[int, ...] | None


class Renewal:
    """The context for each handshake. The files are looked at, and not read, at each; where one
    has changed all are read. Until they fit together again the last good ones hold, and the
    options' `report` hears once of each state that does not fit: a certificate and its key are
    rarely replaced in one step."""

    def __init__(self, options: Options, read: Callable[[TlsFiles], ssl.SSLContext]) -> None:
        """`read` makes a context of the files. Raises: `AddressError`, as `read` does."""
        self._files = options.tls or TlsFiles()
        self._read = read
        self._report = options.report or log_report
        self._seen = self._look()
        self._context = read(self._files)

    def context(self) -> ssl.SSLContext:
        """For the handshake that begins now."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            try:
                self._context = self._renewed()
            except AddressError as error:
                self._report("certificate_not_renewed", ListenFailed(str(error)))
        return self._context

    def _look(self) -> tuple[_Seen, ...]:
        """What tells one state of the files from another."""
        return tuple(map(_stat, self._paths))

    @property
    def _paths(self) -> tuple[str | None, ...]:
        return (self._files.certificate, self._files.key, self._files.ca)

    def _renewed(self) -> ssl.SSLContext:
        for path, seen in zip(self._paths, self._seen, strict=True):
            if seen is not None and not stat.S_ISREG(seen[0]):
                # To open a named pipe is to wait for whoever writes it, and all links with us.
                raise AddressError(f"{path} is not a regular file")
        return self._read(self._files)


def _stat(path: str | None) -> _Seen:
    """None for a file that is not there, or that is not wanted."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    if found is None:
        return None
    return (found.st_mode, found.st_ino, found.st_mtime_ns, found.st_size)
