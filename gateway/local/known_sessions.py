"""Which sessions a command-line agent has had, so that the next run resumes one of them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

MAX_KNOWN: Final = 10_000
"""Sessions that are remembered: as many as the hub knows. The one that was used longest ago is
forgotten first, and a run of it then starts anew."""


class KnownSessions:
    """A directory with an empty file for each session, named by digests, since ids hold anything.
    They outlive the gateway, as the agent's own files do.

    Raises: `OSError` where the directory cannot be used.
    """

    def __init__(self, directory: Path, most: int = MAX_KNOWN) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._most = most
        found = sorted((file.stat().st_mtime_ns, file.name) for file in directory.iterdir())
        self._names = dict.fromkeys(name for _, name in found)

    def __contains__(self, session: tuple[str, str]) -> bool:
        return _name(session) in self._names

    def add(self, session: tuple[str, str]) -> None:
        """Remember a session (a profile's name and an id), as the one used last."""
        name = _name(session)
        self._names.pop(name, None)
        self._names[name] = None
        (self._directory / name).touch(mode=0o600)
        while len(self._names) > self._most:
            oldest = next(iter(self._names))
            del self._names[oldest]
            (self._directory / oldest).unlink(missing_ok=True)

    def forget(self, id: str) -> None:
        """Forget the session of this id at every profile, those that came from afar too.

        Raises: `OSError`: it is forgotten, but by this process only.
        """
        of_id = _digest(id) + "."
        forgotten = [name for name in self._names if name.startswith(of_id)]
        for name in forgotten:
            del self._names[name]
        for name in forgotten:
            (self._directory / name).unlink(missing_ok=True)


def _name(session: tuple[str, str]) -> str:
    profile, id = session
    return f"{_digest(id)}.{_digest(profile)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
