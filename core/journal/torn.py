"""What a power cut leaves of a journal's files: nothing that was not synced can be relied on.

A `Recorder` is the disk under SQLite (`vfs.py`) that keeps all that is done to it. From its log
`left_by` makes what the files hold if the power goes at a given point: what was synced before is
there; of every write since then any part may be, and of no two writes does one wait for the
other; a file that was shortened or deleted may be so or not. For tests only.

Two things are taken for granted, as SQLite takes them: bytes around a write are left alone by
it, and a sync that was answered has happened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import attrs

from fleetgate.core.journal.vfs import OK, Disk


@attrs.frozen(slots=True)
class Written:
    """Bytes were written to a file."""

    file: str
    offset: int
    data: bytes


@attrs.frozen(slots=True)
class Shortened:
    """A file ends at `size`."""

    file: str
    size: int


@attrs.frozen(slots=True)
class Synced:
    """A file is safe as it is. `folder`: and which files there are."""

    file: str
    folder: bool


@attrs.frozen(slots=True)
class Deleted:
    """A file is gone. `safe`: and does not come back."""

    file: str
    safe: bool


@attrs.frozen(slots=True)
class Mark:
    """Something that the test wants to find again: what was promised by then."""

    promised: int


Deed: TypeAlias = Written | Shortened | Synced | Deleted | Mark

Part: TypeAlias = tuple[int, int]
"""From where to where."""

Fate: TypeAlias = Callable[[int], Part]
"""Which part of so many bytes reaches the disk. A deed that has no bytes has one."""

Files: TypeAlias = Mapping[str, bytes]
"""What the files of a folder hold, by their names."""


def all_of(size: int) -> Part:
    """Everything reaches the disk: a process was killed, and the machine goes on."""
    return 0, size


def nothing(size: int) -> Part:
    """Nothing does."""
    return 0, 0


class Recorder(Disk):
    """A disk that keeps all that was done to it, in order."""

    def __init__(self, log: Sequence[Deed] = ()) -> None:
        self.log: list[Deed] = list(log)

    def mark(self, promised: int) -> None:
        """From here on so much is promised."""
        self.log.append(Mark(promised))

    def write(self, name: str, offset: int, data: bytes) -> int:
        self.log.append(Written(os.path.basename(name), offset, data))
        return OK

    def truncate(self, name: str, size: int) -> int:
        self.log.append(Shortened(os.path.basename(name), size))
        return OK

    def sync(self, name: str, folder: bool) -> int:
        self.log.append(Synced(os.path.basename(name), folder))
        return OK

    def delete(self, name: str, safe: bool) -> int:
        self.log.append(Deleted(os.path.basename(name), safe))
        return OK


@attrs.define
class _File:
    """A file: what is safe of it (None: that it is not there), and what was done since."""

    safe: bytes | None = None
    since: list[Written | Shortened | Deleted] = attrs.field(
        factory=list[Written | Shortened | Deleted]
    )

    def left(self, fate: Fate) -> bytes | None:
        held = None if self.safe is None else bytearray(self.safe)
        for deed in self.since:
            size = len(deed.data) if isinstance(deed, Written) else 1
            start, end = fate(size)
            if start < end:
                held = _after(held, deed, start, end)
        return None if held is None else bytes(held)


def _after(
    held: bytearray | None, deed: Written | Shortened | Deleted, start: int, end: int
) -> bytearray | None:
    match deed:
        case Written(_, offset, data):
            held = bytearray() if held is None else held
            held.extend(bytes(max(0, offset + end - len(held))))
            held[offset + start : offset + end] = data[start:end]
            return held
        case Shortened(_, size):
            return None if held is None else held[:size]
        case Deleted():
            return None


def left_by(log: Sequence[Deed], fate: Fate, before: Files | None = None) -> Files:
    """What the files hold if the power goes after all of `log`, `before` which they held what
    they are given as."""
    files = {name: _File(data) for name, data in (before or {}).items()}
    for deed in log:
        match deed:
            case Mark():
                continue
            case Synced():
                file = files.setdefault(deed.file, _File())
                file.safe, file.since = file.left(all_of), []
                if deed.folder:
                    _stay_deleted(files)
            case Deleted(safe=True):
                files[deed.file] = _File()
            case _:
                files.setdefault(deed.file, _File()).since.append(deed)
    left = {name: file.left(fate) for name, file in files.items()}
    return {name: data for name, data in left.items() if data is not None}


def _stay_deleted(files: Mapping[str, _File]) -> None:
    """What was deleted so far does not come back."""
    for file in files.values():
        gone = [at for at, deed in enumerate(file.since) if isinstance(deed, Deleted)]
        if gone:
            file.safe, file.since = None, file.since[gone[-1] + 1 :]


def promised_in(log: Sequence[Deed]) -> int:
    """The last that was promised."""
    return next((deed.promised for deed in reversed(log) if isinstance(deed, Mark)), 0)
