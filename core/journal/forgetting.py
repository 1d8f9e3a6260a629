"""How an SQLite journal forgets runs: at once to the eye, and bit by bit on the disk.

A run may have millions of events. Its row becomes a stone at first: it has an id that no run can
have, and the run's number, so that no other run gets that number while events lie under it. The
stone goes with the last of them. Synchronous, and only SQL.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from fleetgate.core.ids import RunId
from fleetgate.core.sequence import LAST_SEQ

FREE_AT_ONCE: Final = 2048
"""Events of one step: as many as one commit writes at most, and cheaper than those."""

_BURY: Final = (
    "UPDATE runs SET id = CAST(run AS BLOB), link = '', pending = 0, ended = -1"
    " WHERE id = ? AND NOT open RETURNING run"
)
_BURIED: Final = "SELECT run FROM runs WHERE NOT open AND pending = 0 AND ended = -1 LIMIT 1"
_FREE: Final = (
    "DELETE FROM events WHERE place IN"
    " (SELECT place FROM events WHERE place > ? AND place <= ? LIMIT ?)"
)
_ENDED: Final = (
    "SELECT id FROM runs WHERE NOT open AND pending = ? AND ended >= 0 AND ended < ?"
    " ORDER BY ended LIMIT ?"
)


def forget(connection: sqlite3.Connection, id: RunId) -> bool:
    """Forget a run that has ended. False: it is open."""
    rows = connection.execute(_BURY, (id,)).fetchall()
    for (run,) in rows:
        for table in ("records", "specs", "orders", "keys"):
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
    return bool(rows) or not connection.execute("SELECT 1 FROM runs WHERE id = ?", (id,)).fetchall()


def free(connection: sqlite3.Connection) -> None:
    """Free some of what one forgotten run takes, if there is one."""
    for (run,) in connection.execute(_BURIED).fetchall():
        first = run << 32
        freed = connection.execute(_FREE, (first, first + LAST_SEQ, FREE_AT_ONCE)).rowcount
        if freed < FREE_AT_ONCE:
            connection.execute("DELETE FROM runs WHERE run = ?", (run,))


def unfreed(connection: sqlite3.Connection) -> bool:
    """As `Journal.unfreed`."""
    return bool(connection.execute(_BURIED).fetchall())


def ended(
    connection: sqlite3.Connection, before: int, acknowledged: bool, items: int
) -> list[RunId]:
    """As `Journal.ended`."""
    rows = connection.execute(_ENDED, (not acknowledged, before, items))
    return [RunId(id) for (id,) in rows.fetchall()]


def used(connection: sqlite3.Connection) -> int:
    """As `Journal.used`."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
