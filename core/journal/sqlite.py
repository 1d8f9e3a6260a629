"""The durable journal: one SQLite file, written by one thread at a time, read beside it.

A commit is one transaction in the write-ahead log, fsynced (`synchronous=FULL`). Reads
have connections of their own, so none waits for a commit and none delays one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeAlias, TypeVar

import trio

from fleetgate.core.events import Recorded
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal import forgetting, tables
from fleetgate.core.journal.api import (
    JournalConflict,
    JournalDamaged,
    JournalError,
    JournalFailing,
    OpenRun,
    RunFilter,
)
from fleetgate.core.journal.lock import locked
from fleetgate.core.journal.migrations import migrate
from fleetgate.core.journal.queued import committing
from fleetgate.core.journal.records import Damaged
from fleetgate.core.journal.rows import Row
from fleetgate.core.journal.thread import Caller
from fleetgate.core.journal.threaded import ThreadedJournal
from fleetgate.core.run import Run

OLDEST_SQLITE: Final = (3, 35, 0)
"""The first version with `RETURNING`."""

READERS: Final = 2
"""Connections to read with. Reads share the interpreter lock, so more would not read
faster; one more than one lets a short read pass a long list of runs."""

LOG_SIZE: Final = 64 << 20
"""Bytes to which the write-ahead log is cut after a checkpoint that it had outgrown."""

CACHE_SIZE: Final = 32 << 20
"""Bytes of pages that the writer keeps. Every open run's next event goes to a page of its
own, so this is about 8,000 runs at once; beyond them a commit reads pages first."""

READ_CACHE_SIZE: Final = 2 << 20
"""Bytes of pages that each of the readers keeps: SQLite's own figure. A follower reads onwards."""

Connect: TypeAlias = Callable[[Path], sqlite3.Connection]
P = ParamSpec("P")
T = TypeVar("T")


class SqliteJournal(ThreadedJournal):
    """A journal in an SQLite file. Open one with `open_sqlite_journal`."""

    def __init__(
        self, thread: Caller, writer: sqlite3.Connection, readers: Sequence[sqlite3.Connection]
    ) -> None:
        super().__init__(thread)
        self._writer = writer
        self._readers = list(readers)
        self._reading = trio.CapacityLimiter(len(self._readers))

    def write(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        try:
            return tables.commit(self._writer, groups)
        except sqlite3.DatabaseError as error:
            raise _failing(error) from error

    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
        return await self._read(tables.read, run, after, items, size)

    async def get(self, run: RunId) -> Run | None:
        return await self._read(tables.get, run)

    async def find(
        self, which: RunFilter, *, after: str = "", items: int | None = None
    ) -> Sequence[Run]:
        return await self._read(tables.find, which, after, items, damaged=self._leave_out)

    async def latest(self, link: str, *, items: int) -> Sequence[Run]:
        return await self._read(tables.latest, link, items, damaged=self._leave_out)

    def _leave_out(self) -> None:
        self._damaged = True

    async def open_runs(self) -> Sequence[OpenRun]:
        return await self._read(tables.open_runs)

    async def knows(self, run: RunId, key: str) -> bool:
        return await self._read(tables.knows, run, key)

    async def ended(self, before: int, *, acknowledged: bool, items: int) -> Sequence[RunId]:
        return await self._read(forgetting.ended, before, acknowledged, items)

    async def used(self) -> int:
        return await self._read(forgetting.used)

    async def unfreed(self) -> bool:
        return await self._read(forgetting.unfreed)

    async def notes(self, space: str) -> Mapping[str, bytes]:
        return await self._read(tables.notes, space)

    async def _read(
        self,
        query: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `query` in a thread, on a connection that nobody else has meanwhile."""

        def run() -> T:
            reader = self._readers.pop()
            try:
                return query(reader, *args, **kwargs)
            except sqlite3.DatabaseError as error:
                raise _failing(error) from error
            except Damaged as error:
                raise JournalDamaged(str(error)) from error
            finally:
                self._readers.append(reader)

        return await trio.to_thread.run_sync(run, limiter=self._reading)


_MISTAKES: Final = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.NotSupportedError,
    sqlite3.DataError,
)
"""Errors that are ours; every other one is the world's and may pass."""


_BROKEN: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Codes of SQLite for a page that is none of its own."""


def _failing(error: sqlite3.DatabaseError) -> JournalFailing:
    if isinstance(error, _MISTAKES):
        raise error
    if error.sqlite_errorcode & 0xFF in _BROKEN:
        return JournalDamaged(str(error))
    return JournalFailing(f"{error} ({error.sqlite_errorname})")


def connect(path: Path) -> sqlite3.Connection:
    """A connection that writes the file at `path`, durably."""
    connection = _connect(path, "rw")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise JournalError(f"{path} cannot have a write-ahead log here; use a local file system")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_SIZE}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_SIZE >> 10}")
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that reads the file at `path`."""
    connection = _connect(path, "ro")
    connection.execute(f"PRAGMA cache_size = -{READ_CACHE_SIZE >> 10}")
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # Threads take turns on a connection, which SQLite allows and Python's check does not.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )


@asynccontextmanager
async def open_sqlite_journal(
    path: str | os.PathLike[str], *, connect: Connect = connect
) -> AsyncGenerator[SqliteJournal]:
    """Open the journal at `path`, or make one that only its owner can read.

    `connect` makes the connection that writes: for tests of a failing disk.

    Raises: `JournalLocked`, `JournalTooNew`; `JournalError` where the file is not a
    journal, or cannot be opened. Cancelled, what was enqueued is committed all the same.
    """
    stack = ExitStack()
    try:
        opened = await trio.to_thread.run_sync(_open, Path(path), connect, stack)
        async with committing(opened) as journal:
            yield journal
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(stack.close)


def _make_safe(path: Path) -> None:
    """Make the file if there is none, and sync the log that a killed process may have left: what
    stands in it can be read from now on, also what that process had no time to sync (I2)."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    with suppress(FileNotFoundError):
        log = os.open(f"{path}-wal", os.O_RDWR)
        try:
            os.fsync(log)
        finally:
            os.close(log)


def _open(path: Path, connect: Connect, stack: ExitStack) -> SqliteJournal:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        needed = ".".join(map(str, OLDEST_SQLITE))
        raise JournalError(f"a journal needs SQLite {needed}; here is {sqlite3.sqlite_version}")
    try:
        path = stack.enter_context(locked(path))
        _make_safe(path)
        writer = stack.enter_context(closing(connect(path)))
        migrate(writer)
        # Left before the writer: whoever closes last moves the log into the file.
        readers = [stack.enter_context(closing(connect_to_read(path))) for _ in range(READERS)]
        thread = stack.enter_context(closing(Caller("journal")))
        return SqliteJournal(thread, writer, readers)
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be opened: {error.strerror}") from error
    except sqlite3.DatabaseError as error:
        raise JournalError(f"the journal {path} cannot be opened: {error}") from error
