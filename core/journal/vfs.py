"""The disk under SQLite in a test's hands: every write, truncation, sync and deletion of a file
passes through a `Disk`, which may watch it or have it fail.

SQLite reaches files by a table of functions, its VFS. `sqlite_on` puts a copy of the system's
own in its place, in which some are ours. So what a test sees is what the very library that a
gateway runs on does, on all of its connections; nothing is imitated. For tests only.
"""

from __future__ import annotations

import _sqlite3
import ctypes as ct
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

OK: Final = 0
READONLY: Final = 8
FULL: Final = 13
IOERR: Final = 10
IOERR_READ: Final = IOERR | 1 << 8
IOERR_WRITE: Final = IOERR | 3 << 8
IOERR_FSYNC: Final = IOERR | 4 << 8
"""SQLite's own result codes."""


class Disk:
    """A disk that does as it is told. A call answers `OK`, and what was asked for is done; or
    the code of an error, and it is not. Files are named by their path. Calls come from whatever
    thread uses the connection."""

    def read(self, name: str, offset: int, size: int) -> int:
        """`size` bytes at `offset` are wanted."""
        return OK

    def write(self, name: str, offset: int, data: bytes) -> int:
        """`data` is to stand at `offset`."""
        return OK

    def truncate(self, name: str, size: int) -> int:
        """Nothing is to stand at and behind `size`."""
        return OK

    def sync(self, name: str, folder: bool) -> int:
        """All that was done to this file is to be safe; with `folder`, which files there are in
        its folder, too. It is never really done: no test waits for the disk of its machine."""
        return OK

    def delete(self, name: str, safe: bool) -> int:
        """The file is to go; with `safe` that is to be safe, too."""
        return OK


class FailingDisk(Disk):
    """A disk that fails on demand: the calls that `codes` names, `read`, `write` or `sync`, with
    the code given there, once `spared` of them were answered `OK`."""

    def __init__(self) -> None:
        self.codes: Mapping[str, int] = {}
        self.spared = 0

    def _answer(self, call: str) -> int:
        code = self.codes.get(call, OK)
        if code != OK and self.spared > 0:
            self.spared -= 1
            return OK
        return code

    def read(self, name: str, offset: int, size: int) -> int:
        return self._answer("read")

    def write(self, name: str, offset: int, data: bytes) -> int:
        return self._answer("write")

    def sync(self, name: str, folder: bool) -> int:
        return self._answer("sync")


_CREATES: Final = 0x4
_IS_LOG: Final = 0x800 | 0x80000
"""Flags of an opening: a rollback journal, a write-ahead log. With the first sync of such a file
that was to be made SQLite syncs its folder."""

_Pointer: Final = ct.c_void_p
_OPEN: Final = ct.CFUNCTYPE(ct.c_int, _Pointer, _Pointer, _Pointer, ct.c_int, _Pointer)
_DELETE: Final = ct.CFUNCTYPE(ct.c_int, _Pointer, _Pointer, ct.c_int)
_CLOSE: Final = ct.CFUNCTYPE(ct.c_int, _Pointer)
_MOVE: Final = ct.CFUNCTYPE(ct.c_int, _Pointer, _Pointer, ct.c_int, ct.c_int64)
_TRUNCATE: Final = ct.CFUNCTYPE(ct.c_int, _Pointer, ct.c_int64)
_SYNC: Final = ct.CFUNCTYPE(ct.c_int, _Pointer, ct.c_int)


class _Vfs(ct.Structure):
    """`sqlite3_vfs`, version 3."""

    _fields_ = (
        ("version", ct.c_int),
        ("file_size", ct.c_int),
        ("longest_path", ct.c_int),
        ("next", _Pointer),
        ("name", ct.c_char_p),
        ("data", _Pointer),
        ("open", _OPEN),
        ("delete", _DELETE),
        ("rest", _Pointer * 13),
    )


class _Methods(ct.Structure):
    """`sqlite3_io_methods`, version 3."""

    _fields_ = (
        ("version", ct.c_int),
        ("close", _CLOSE),
        ("read", _MOVE),
        ("write", _MOVE),
        ("truncate", _TRUNCATE),
        ("sync", _SYNC),
        ("rest", _Pointer * 13),
    )


class _File(ct.Structure):
    """`sqlite3_file`: what all files of a VFS begin with."""

    _fields_ = (("methods", ct.POINTER(_Methods)),)


class _Watched:
    """One VFS in the place of the system's."""

    def __init__(self, library: ct.CDLL, disk: Disk) -> None:
        self.fault: BaseException | None = None
        self._disk = disk
        self._library = library
        library.sqlite3_vfs_find.restype = ct.POINTER(_Vfs)
        self._system: Any = library.sqlite3_vfs_find(None)
        self._theirs: Any = self._system.contents
        self._names: dict[int, str] = {}
        self._new_logs: set[int] = set()
        self._methods: dict[int, _Methods] = {}
        self.vfs = _Vfs()
        ct.memmove(ct.byref(self.vfs), self._system, ct.sizeof(_Vfs))
        self.vfs.name = b"watched"
        self.vfs.open = _OPEN(self._open)
        self.vfs.delete = _DELETE(self._delete)

    def register(self) -> None:
        self._library.sqlite3_vfs_register(ct.byref(self.vfs), 1)

    def unregister(self) -> None:
        self._library.sqlite3_vfs_unregister(ct.byref(self.vfs))
        self._library.sqlite3_vfs_register(self._system, 1)

    def _open(self, _: int, name: int | None, file: int, flags: int, out: int | None) -> int:
        # The name goes on as the pointer that it is: SQLite has parameters behind its end.
        result: int = self._theirs.open(self._system, name, file, flags, out)
        opened = _File.from_address(file)
        if result == OK and name is not None and opened.methods:
            self._names[file] = ct.string_at(name).decode()
            if flags & _CREATES and flags & _IS_LOG:
                self._new_logs.add(file)
            opened.methods = ct.pointer(self._ours(opened.methods))
        return result

    def _ours(self, theirs: Any) -> _Methods:
        at = ct.addressof(theirs.contents)
        if at not in self._methods:
            ours, system = _Methods(), theirs.contents
            ct.memmove(ct.byref(ours), theirs, ct.sizeof(_Methods))
            ours.close = _CLOSE(lambda *a: self._close(system, *a))
            ours.read = _MOVE(lambda *a: self._read(system, *a))
            ours.write = _MOVE(lambda *a: self._write(system, *a))
            ours.truncate = _TRUNCATE(lambda *a: self._truncate(system, *a))
            ours.sync = _SYNC(self._sync)
            self._methods[at] = ours
        return self._methods[at]

    def _ask(self, ask: Callable[[], int]) -> int:
        """What the disk says. What it raises is told at the end: SQLite cannot be told."""
        try:
            return ask()
        except BaseException as error:
            self.fault = self.fault or error
            return IOERR

    def _close(self, system: Any, file: int) -> int:
        self._names.pop(file, None)
        self._new_logs.discard(file)
        return int(system.close(file))

    def _read(self, system: Any, file: int, to: int, size: int, offset: int) -> int:
        name = self._names[file]
        said = self._ask(lambda: self._disk.read(name, offset, size))
        return said or int(system.read(file, to, size, offset))

    def _write(self, system: Any, file: int, data: int, size: int, offset: int) -> int:
        name = self._names[file]
        said = self._ask(lambda: self._disk.write(name, offset, ct.string_at(data, size)))
        return said or int(system.write(file, data, size, offset))

    def _truncate(self, system: Any, file: int, size: int) -> int:
        name = self._names[file]
        return self._ask(lambda: self._disk.truncate(name, size)) or int(
            system.truncate(file, size)
        )

    def _sync(self, file: int, _: int) -> int:
        name, folder = self._names[file], file in self._new_logs
        said = self._ask(lambda: self._disk.sync(name, folder))
        if said == OK:
            self._new_logs.discard(file)
        return said

    def _delete(self, _: int, name: int, safe: int) -> int:
        path = ct.string_at(name).decode()
        said = self._ask(lambda: self._disk.delete(path, bool(safe)))
        return said or int(self._theirs.delete(self._system, name, safe))


_kept: Final[list[_Watched]] = []
"""All that there were: a connection that somebody forgot to close may still call one."""


@contextmanager
def sqlite_on(disk: Disk) -> Generator[None]:
    """Have every SQLite connection of this process that is opened in the body use `disk`. They
    are to be closed in it, too. Files without a name (temporary ones) are the system's.

    Raises: `RuntimeError`: this Python has SQLite built in where it cannot be reached; what the
    disk itself raised.
    """
    library = ct.CDLL(getattr(_sqlite3, "__file__", None))
    if not hasattr(library, "sqlite3_vfs_register"):
        raise RuntimeError("SQLite's functions cannot be reached here; use a Python that links it")
    watched = _Watched(library, disk)
    _kept.append(watched)
    watched.register()
    try:
        yield
    finally:
        watched.unregister()
    if watched.fault is not None:
        raise watched.fault
