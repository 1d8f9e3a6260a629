"""A journal's file while no gateway has it open: is it whole, what is in it, make it small.

Synchronous, for the command line. The lock of the file is held meanwhile, so that no gateway
starts on it and none is at work.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

import attrs

from fleetgate.core import events as e
from fleetgate.core.errors import IllegalTransition
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal import tables
from fleetgate.core.journal.api import JournalError, RunFilter
from fleetgate.core.journal.lock import locked
from fleetgate.core.journal.migrations import STEPS, version_of
from fleetgate.core.journal.records import Damaged, decode_event
from fleetgate.core.journal.sqlite import connect
from fleetgate.core.run import Run, evolve

AT_ONCE: Final = 200
"""Runs, or events, that are read at a time."""

BATCH_SIZE: Final = 1 << 20
"""Bytes of events that are read at a time."""

FOLDED: Final = ("state", "worker", "epoch", "native_session", "model", "approvals", "outcome")
"""What of a run's row its events alone say (docs/adr/0003)."""


@attrs.frozen(slots=True)
class Damage:
    """Something in a journal contradicts itself. `run` and `seq` say where, as far as that is
    known."""

    what: str
    run: str | None = None
    seq: int | None = None


@attrs.define
class Seen:
    """How much was looked at."""

    runs: int = 0
    events: int = 0


@contextmanager
def opened(path: Path) -> Generator[sqlite3.Connection]:
    """The journal at `path`, of this version or an older one, and nobody else's meanwhile.

    Raises: `JournalLocked`: a process has it open; `JournalError`: it is none, or is not there.
    """
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")
    try:
        with ExitStack() as stack:
            connection = _open(path, stack)
            yield connection
    except sqlite3.DatabaseError as error:
        raise JournalError(f"the journal {path} cannot be read: {error}") from error
    except Damaged as error:
        raise JournalError(
            f"the journal {path} holds a damaged record; verify says which"
        ) from error


def _open(path: Path, stack: ExitStack) -> sqlite3.Connection:
    try:
        connection = stack.enter_context(closing(connect(stack.enter_context(locked(path)))))
    except OSError as error:  # what its user meets later is no matter of the journal
        raise JournalError(f"the journal {path} cannot be opened: {error.strerror}") from error
    version = version_of(connection)
    if not 0 < version <= len(STEPS):
        raise JournalError(
            f"the journal {path} has version {version}; this program knows 1 to "
            f"{len(STEPS)}: use the one that wrote it"
        )
    return connection


def count_runs(connection: sqlite3.Connection) -> int:
    """How many runs there are, those that cannot be read among them."""
    (found,) = connection.execute("SELECT count(*) FROM runs WHERE ended >= 0").fetchone()
    return int(found)


def runs_in(connection: sqlite3.Connection) -> Iterator[Run]:
    """Every run that has its records, by id in byte order."""
    page = tables.find(connection, RunFilter(), "", AT_ONCE)
    while page:
        yield from page
        page = tables.find(connection, RunFilter(), page[-1].id, AT_ONCE)


def events_of(connection: sqlite3.Connection, run: RunId) -> Iterator[e.Recorded]:
    """Every event of a run, in order."""
    batch = tables.read(connection, run, 0, AT_ONCE, BATCH_SIZE)
    while batch:
        yield from batch
        batch = tables.read(connection, run, batch[-1].seq, AT_ONCE, BATCH_SIZE)


def compact(connection: sqlite3.Connection) -> None:
    """Give back to the file system what nothing stands in. It takes as much free space as the
    journal is large, for a while.

    Raises: `sqlite3.Error`, and the journal is as it was.
    """
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


# --- verifying


def verify(connection: sqlite3.Connection, seen: Seen) -> Iterator[Damage]:
    """What is damaged, first the file as SQLite finds it, then run by run; `seen` counts.

    Pages, records that cannot be read, numbers that are missing, rows that say something other
    than their events, and what belongs to no run are found. A record that was changed into
    another that can be read is not: records have no checksum of their own.
    """
    try:
        yield from _verify(connection, seen)
    except sqlite3.DatabaseError as error:
        yield Damage(f"the file: {error}")


def _verify(connection: sqlite3.Connection, seen: Seen) -> Iterator[Damage]:
    found = False
    for (said,) in connection.execute("PRAGMA integrity_check(20)").fetchall():
        if said != "ok":
            found = True
            yield Damage(f"the file: {' '.join(said.split())}")  # it may have several lines
    if found:
        return  # what is read by a damaged index says nothing
    for key, id in connection.execute(
        "SELECT run, id FROM runs WHERE ended >= 0 ORDER BY id"
    ).fetchall():
        seen.runs += 1
        yield from _verify_run(connection, key, RunId(id), seen)
    yield from _strays(connection)


def _verify_run(
    connection: sqlite3.Connection, key: int, id: RunId, seen: Seen
) -> Iterator[Damage]:
    try:
        run = tables.get(connection, id)
    except Damaged:
        run = None
    if run is None:
        yield Damage("its row's records are missing or cannot be read", id)
        return
    yield from _verify_columns(connection, key, run)
    places = connection.execute(
        "SELECT place, record FROM events WHERE place > ? AND place < ? ORDER BY place",
        (key << 32, (key + 1) << 32),
    )
    yield from _verify_events(
        run, ((place - (key << 32), record) for place, record in places), seen
    )


def _verify_columns(connection: sqlite3.Connection, key: int, run: Run) -> Iterator[Damage]:
    row = connection.execute(
        "SELECT link, state, open, pending, acknowledged FROM runs WHERE run = ?", (key,)
    ).fetchone()
    open = not run.state.terminal
    pending = open or run.acknowledged < run.last_seq
    if row != (run.origin.link, run.state.value, open, pending, run.acknowledged):
        yield Damage("its row's columns are not as its record", run.id)
    if run.acknowledged > run.last_seq:
        yield Damage(f"{run.acknowledged} is acknowledged, its last is {run.last_seq}", run.id)


def _verify_events(run: Run, records: Iterator[tuple[int, bytes]], seen: Seen) -> Iterator[Damage]:
    folded = Run(run.id, run.spec, run.origin, run.created)
    last = 0
    for seq, record in records:
        if seq != last + 1:
            yield Damage(f"event {last + 1} is missing; {seq} comes next", run.id, last + 1)
            return
        last = seq
        seen.events += 1
        try:
            folded = evolve(folded, decode_event(run.id, Seq(seq), record).event)
        except Damaged:
            yield Damage("its record cannot be read", run.id, seq)
            return
        except IllegalTransition as error:
            yield Damage(f"it cannot follow: {error}", run.id, seq)
            return
    if last != run.last_seq:
        yield Damage(f"its row says that its last event is {run.last_seq}; {last} is", run.id, last)
        return
    for name in FOLDED:
        if getattr(folded, name) != getattr(run, name):
            yield Damage(f"its row's {name} is not what its events make of it", run.id, last)


_STRAYS: Final = {
    "events": "SELECT count(*) FROM events WHERE place >> 32 NOT IN (SELECT run FROM runs)",
    **{
        table: f"SELECT count(*) FROM {table} WHERE run NOT IN (SELECT run FROM runs)"
        for table in ("records", "specs", "orders", "keys")
    },
}


def _strays(connection: sqlite3.Connection) -> Iterator[Damage]:
    for table, count in _STRAYS.items():
        (found,) = connection.execute(count).fetchone()
        if found:
            yield Damage(f"{found} rows of the table {table} belong to no run")
