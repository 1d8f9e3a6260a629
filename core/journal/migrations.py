"""The tables of an SQLite journal, as the steps that led to them.

A journal's version is the number of steps it has taken. Each step is one transaction,
so a journal is always of some version. What a released step does never changes: a
change of the tables is one more step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from fleetgate.core.journal.api import JournalError, JournalTooNew

APPLICATION_ID: Final = 0x666C6774
"""`flgt`: how SQLite files of ours are told from any other."""

Step: TypeAlias = Callable[[sqlite3.Connection], None]

_TABLES: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "INSERT INTO meta VALUES ('version', 0), ('probes', 0)",
    # Small rows: their numbers change with every append.
    """CREATE TABLE runs (
        run INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        link TEXT NOT NULL,
        state TEXT NOT NULL,
        created INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        native_seq INTEGER NOT NULL,
        acknowledged INTEGER NOT NULL,
        open INTEGER NOT NULL,
        pending INTEGER NOT NULL
    )""",
    "CREATE INDEX runs_open ON runs (created) WHERE open",
    "CREATE INDEX runs_pending ON runs (link) WHERE pending",
    # The rest of a run, apart from its specs: those may be large and hardly change.
    "CREATE TABLE records (run INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    "CREATE TABLE specs (run INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    # `place` is the run's number times 2^32, plus the event's: one run's events lie side by
    # side, and a row larger than a quarter of a page costs no page of its own, as it would
    # in a table without rowid.
    "CREATE TABLE events (place INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    """CREATE TABLE orders (
        run INTEGER NOT NULL,
        number INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        record BLOB NOT NULL,
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID""",
    """CREATE TABLE keys (
        run INTEGER NOT NULL,
        key TEXT NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (run, key)
    ) WITHOUT ROWID""",
    """CREATE TABLE notes (
        space TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (space, key)
    ) WITHOUT ROWID""",
    f"PRAGMA application_id = {APPLICATION_ID}",
)


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


_ORDERS: Final = (
    # Runs are listed in pages, by id: of one entry, or of one entry those that are pending.
    "CREATE INDEX runs_link ON runs (link, id)",
    "DROP INDEX runs_pending",
    "CREATE INDEX runs_pending ON runs (link, id) WHERE pending",
)


def _order_lists(connection: sqlite3.Connection) -> None:
    for statement in _ORDERS:
        connection.execute(statement)


def _find_ended(connection: sqlite3.Connection) -> None:
    """Runs are forgotten in the order in which they ended; those that are have ended at -1."""
    connection.execute("CREATE INDEX runs_ended ON runs (pending, ended) WHERE NOT open")


def _find_latest(connection: sqlite3.Connection) -> None:
    """Some lists hold only so many runs of an entry, those that ended last."""
    connection.execute("CREATE INDEX runs_latest ON runs (link, ended) WHERE NOT open")


STEPS: Final[Sequence[Step]] = (_create, _order_lists, _find_ended, _find_latest)


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Take the steps that the journal has not taken. An empty file has taken none.

    Raises: `JournalTooNew`; `JournalError` where the file is another program's;
    `sqlite3.Error` where a step fails, and the journal is as it was before that step.
    """
    version = version_of(connection)
    if version > len(steps):
        raise JournalTooNew(
            f"the journal has version {version}, this program knows up to {len(steps)}; "
            "use the newer program that wrote it"
        )
    for number, step in enumerate(steps[version:], version + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            step(connection)
            connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (number,))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def version_of(connection: sqlite3.Connection) -> int:
    """How many steps the journal has taken.

    Raises: `JournalError` where the file is another program's, or tells no version.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        row = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
        if row is None or not isinstance(row[0], int) or row[0] < 0:
            raise JournalError(
                "the journal does not say which version it has: expected a number in its table "
                "meta; it is damaged, or was changed by hand: restore a copy of the file"
            )
        return row[0]
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application or tables:
        raise JournalError("the file is an SQLite database, but not a journal; choose another path")
    return 0
