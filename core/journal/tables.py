"""Rows into the tables of an SQLite journal and out of them. Synchronous, and only SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, count
from typing import Final, TypeAlias, assert_never

from fleetgate.core.events import Recorded
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.journal.api import (
    ForgetRun,
    FreeForgotten,
    JournalConflict,
    MarkOrder,
    OpenOrder,
    OpenRun,
    PutKey,
    PutNote,
    RunFilter,
)
from fleetgate.core.journal.forgetting import forget, free
from fleetgate.core.journal.records import Damaged, decode_event, decode_order, decode_run
from fleetgate.core.journal.rows import (
    EventRows,
    OrderRow,
    Row,
    RunRow,
    Standing,
    conflict_of,
)
from fleetgate.core.run import Run
from fleetgate.core.sequence import LAST_SEQ

_MOVE: Final = (
    "UPDATE runs SET last_seq = ?, native_seq = ?"
    " WHERE id = ? AND last_seq = ? AND open RETURNING run"
)
_CHANGE: Final = (
    "UPDATE runs SET state = ?, ended = ?, acknowledged = ?, open = ?, pending = ?,"
    " last_seq = ?, native_seq = ? WHERE id = ? AND last_seq = ? AND (open OR ?) RETURNING run"
)
"""Its last value says whether the run may have ended."""
_INSERT: Final = (
    "INSERT INTO runs (id, link, state, created, ended, last_seq, native_seq, acknowledged,"
    " open, pending) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING run"
)
_RECORD: Final = (
    "INSERT INTO records VALUES (?, ?) ON CONFLICT DO UPDATE SET record = excluded.record"
)
_SPECS: Final = (
    "INSERT INTO specs VALUES (?, ?) ON CONFLICT DO UPDATE SET record = excluded.record"
    " WHERE record <> excluded.record"
)
_ORDER: Final = "INSERT OR REPLACE INTO orders VALUES (?, ?, 0, ?)"
_KEY: Final = "INSERT OR REPLACE INTO keys VALUES (?, ?, ?)"
_FORGET: Final = "DELETE FROM keys WHERE run = ? AND key = ?"
_KNOWS: Final = "SELECT 1 FROM runs JOIN keys USING (run) WHERE id = ? AND key = ?"
_SENT: Final = (
    "UPDATE orders SET sent = 1 WHERE run = (SELECT run FROM runs WHERE id = ?) AND number = ?"
)
_SETTLED: Final = (
    "DELETE FROM orders WHERE run = (SELECT run FROM runs WHERE id = ?) AND number = ?"
)
EVENTS_AT_ONCE: Final = 64
"""Events that one statement inserts. The interpreter lock is given up for each statement, and
beside a busy thread that is a switch between the two: one for each event was a fifth of all
processor time. More at once gain nothing that can be measured, and a connection keeps the
statements of all these lengths prepared."""

SIZE_AT_ONCE: Final = 64 << 10
"""Bytes of records that one statement inserts; one that is larger goes alone. A statement keeps
copies of what it inserted until it inserts again: without a bound those of all lengths held 130
MiB in the end, with it 4."""
_PROBE: Final = "UPDATE meta SET value = value + 1 WHERE name = 'probes'"

_RUN: Final = (
    "SELECT run, id, last_seq, native_seq, records.record, specs.record"
    " FROM runs JOIN records USING (run) JOIN specs USING (run)"
)
_READ: Final = (
    "SELECT place, record FROM events WHERE place > ? AND place <= ? ORDER BY place LIMIT ?"
)


def commit(
    connection: sqlite3.Connection, groups: Sequence[Sequence[Row]]
) -> Mapping[int, JournalConflict]:
    """Write all groups in one transaction, but for those that contradict what is there.
    Without groups, write a counter to see whether writing works.

    Raises: `sqlite3.Error`, and none of them has left a trace.
    """
    refused: dict[int, JournalConflict] = {}
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            found = _write_groups(connection, groups, refused)
            connection.execute("ROLLBACK" if found else "COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if not found:
            return refused
        refused.update(found)


def _write_groups(
    connection: sqlite3.Connection,
    groups: Sequence[Sequence[Row]],
    refused: Mapping[int, JournalConflict],
) -> Mapping[int, JournalConflict]:
    """Write all but the `refused`; answer the first further one to refuse, if there is one."""
    if not groups:
        connection.execute(_PROBE)
    events: list[_Event] = []
    for index, rows in enumerate(groups):
        if index not in refused:
            try:
                for row in rows:
                    _write(connection, row, events)
            except JournalConflict as conflict:
                return {index: conflict}
    _insert(connection, events)
    return {}


def _write(connection: sqlite3.Connection, row: Row, events: list[_Event]) -> None:
    """Write a row; events of it are added to those that are yet to be inserted."""
    match row:
        case EventRows():
            _write_events(connection, row, events)
        case RunRow():
            _write_run(connection, row)
        case OrderRow():
            _write_order(connection, row)
        case PutKey():
            _write_key(connection, row)
        case MarkOrder():
            connection.execute(_SETTLED if row.settled else _SENT, (row.run, row.number))
        case ForgetRun():
            _insert(connection, events)  # it may be the events of this very run
            if not forget(connection, row.run):
                raise _conflict(connection, row, row.run)
        case FreeForgotten():
            free(connection)
        case PutNote(space, key, None):
            connection.execute("DELETE FROM notes WHERE space = ? AND key = ?", (space, key))
        case PutNote(space, key, value):
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (space, key, value))
        case _:
            assert_never(row)


def _write_events(connection: sqlite3.Connection, row: EventRows, events: list[_Event]) -> None:
    numbers = (row.last, row.native_seq, row.id, row.first - 1)
    if row.run is None:
        run = _key(connection.execute(_MOVE, numbers))
    else:
        run = _key(connection.execute(_CHANGE, (*_changing(row.run), *numbers, False)))
    if run is None:
        raise _conflict(connection, row, row.id)
    if row.run is not None:
        _write_records(connection, run, row.run)
    events.extend(zip(count(_place(run, row.first)), row.records, strict=False))


_Event: TypeAlias = tuple[int, bytes]
"""An event's place, and its record."""


def _insert(connection: sqlite3.Connection, events: list[_Event]) -> None:
    """Insert events, of whatever runs, and empty the list."""
    for some in _at_once(events):
        connection.execute(_insert_events(len(some)), tuple(chain.from_iterable(some)))
    events.clear()


def _at_once(events: Sequence[_Event]) -> Iterator[Sequence[_Event]]:
    """The events in parts that one statement inserts."""
    start = size = 0
    for at, (_, record) in enumerate(events):
        if at > start and (at - start == EVENTS_AT_ONCE or size + len(record) > SIZE_AT_ONCE):
            yield events[start:at]
            start, size = at, 0
        size += len(record)
    if events:
        yield events[start:]


@cache
def _insert_events(count: int) -> str:
    return f"INSERT INTO events VALUES {', '.join(['(?, ?)'] * count)}"


def _write_run(connection: sqlite3.Connection, row: RunRow) -> None:
    numbers = (row.last_seq, row.native_seq, row.id, row.last_seq)
    run = _key(connection.execute(_CHANGE, (*_changing(row), *numbers, True)))
    if run is None and not row.last_seq:
        new = (row.id, row.link, row.state, row.created, row.ended, 0, row.native_seq)
        last = (row.acknowledged, row.open, row.pending)
        run = _key(connection.execute(_INSERT, (*new, *last)))
    if run is None:
        raise _conflict(connection, row, row.id)
    _write_records(connection, run, row)


def _changing(row: RunRow) -> tuple[str, int, int, bool, bool]:
    return (row.state, row.ended, row.acknowledged, row.open, row.pending)


def _write_records(connection: sqlite3.Connection, run: int, row: RunRow) -> None:
    connection.execute(_RECORD, (run, row.record))
    connection.execute(_SPECS, (run, row.specs))


def _write_order(connection: sqlite3.Connection, row: OrderRow) -> None:
    connection.execute(_ORDER, (_known(connection, row), row.number, row.record))


def _write_key(connection: sqlite3.Connection, row: PutKey) -> None:
    run = _known(connection, row)
    if row.number is None:
        connection.execute(_FORGET, (run, row.key))
    else:
        connection.execute(_KEY, (run, row.key, row.number))


def _known(connection: sqlite3.Connection, row: OrderRow | PutKey) -> int:
    """The number of the row's run."""
    run = _key(connection.execute("SELECT run FROM runs WHERE id = ?", (row.run,)))
    if run is None:
        raise _conflict(connection, row, row.run)
    return run


def _place(run: int, seq: int) -> int:
    return (run << 32) + seq


def _key(cursor: sqlite3.Cursor) -> int | None:
    """The one number of the one row, if there is one. It reads to the end: a statement that
    is not at its end would keep the transaction open."""
    rows: list[tuple[int]] = cursor.fetchall()
    return rows[0][0] if rows else None


def _conflict(
    connection: sqlite3.Connection,
    row: RunRow | EventRows | OrderRow | PutKey | ForgetRun,
    id: RunId,
) -> JournalConflict:
    rows = connection.execute("SELECT last_seq, open FROM runs WHERE id = ?", (id,)).fetchall()
    conflict = conflict_of(row, Standing(rows[0][0], bool(rows[0][1])) if rows else None)
    if conflict is None:
        raise AssertionError(f"run {id} refused a row that may follow: {rows}")
    return conflict


# --- reading


def read(
    connection: sqlite3.Connection, run: RunId, after: int, items: int, size: int
) -> list[Recorded]:
    """As `Journal.read`.

    Raises: `Damaged`: an event is missing. Those behind it have other numbers than their places in
    the answer, and none of them is given.
    """
    key = _key(connection.execute("SELECT run FROM runs WHERE id = ?", (run,)))
    if key is None:
        return []
    batch: list[Recorded] = []
    cursor = connection.execute(
        _READ, (_place(key, min(after, LAST_SEQ)), _place(key, LAST_SEQ), items)
    )
    try:
        for place, record in cursor:
            size -= len(record)
            if batch and size < 0:
                break
            seq = after + len(batch) + 1
            if place != _place(key, seq):
                raise Damaged(f"event {seq} is missing")
            batch.append(decode_event(run, Seq(seq), record))
    finally:
        cursor.close()  # a read that is left open would hold up the checkpoints
    return batch


def get(connection: sqlite3.Connection, run: RunId) -> Run | None:
    """As `Journal.get`."""
    rows = connection.execute(f"{_RUN} WHERE id = ?", (run,)).fetchall()
    return _run(rows[0]) if rows else None


_RunColumns = tuple[int, str, int, int, bytes, bytes]


def find(
    connection: sqlite3.Connection,
    which: RunFilter,
    after: str = "",
    items: int | None = None,
    *,
    damaged: Callable[[], None] = lambda: None,
) -> list[Run]:
    """As `Journal.find`. `damaged` is called for each run that is left out."""
    wanted = ["id > ?", "ended >= 0"]  # the second leaves out what is forgotten
    values: list[str | int] = []
    if which.link is not None:
        wanted.append("link = ?")
        values.append(which.link)
    if which.open_only:
        wanted.append("open")
    if which.unacknowledged or which.open_only:  # what is open is pending too: one index does
        wanted.append("pending")
    query = f"{_RUN} WHERE {' AND '.join(wanted)} ORDER BY id LIMIT ?"
    found: list[Run] = []
    while True:
        limit = _ALL if items is None else items - len(found)
        rows: list[_RunColumns] = connection.execute(query, (after, *values, limit)).fetchall()
        found += _readable(rows, damaged)
        if items is None or len(found) >= items or len(rows) < limit:
            return found
        after = rows[-1][1]  # a page is full, whatever had to be left out of it


_ALL: Final = -1
"""No limit, as SQLite says it."""


def latest(
    connection: sqlite3.Connection,
    link: str,
    items: int,
    *,
    damaged: Callable[[], None] = lambda: None,
) -> list[Run]:
    """As `Journal.latest`. `damaged` is called for each run that is left out."""
    wanted = "link = ? AND NOT open ORDER BY ended DESC LIMIT ?"
    rows = connection.execute(f"{_RUN} WHERE {wanted}", (link, items)).fetchall()
    return list(_readable(rows, damaged))


def _readable(rows: Sequence[_RunColumns], damaged: Callable[[], None]) -> Iterator[Run]:
    for row in rows:
        try:
            yield _run(row)
        except Damaged:
            damaged()


def open_runs(connection: sqlite3.Connection) -> list[OpenRun]:
    """As `Journal.open_runs`, in one transaction."""
    connection.execute("BEGIN")
    try:
        rows = connection.execute(f"{_RUN} WHERE open ORDER BY created, run").fetchall()
        return [_open_run(connection, row) for row in rows]
    finally:
        connection.execute("COMMIT")


def knows(connection: sqlite3.Connection, run: RunId, key: str) -> bool:
    """As `Journal.knows`."""
    return bool(connection.execute(_KNOWS, (run, key)).fetchall())


def notes(connection: sqlite3.Connection, space: str) -> dict[str, bytes]:
    """As `Journal.notes`."""
    return dict(connection.execute("SELECT key, value FROM notes WHERE space = ?", (space,)))


def _run(row: _RunColumns) -> Run:
    _, id, last_seq, native_seq, record, specs = row
    return decode_run(RunId(id), last_seq, native_seq, record, specs)


def _open_run(connection: sqlite3.Connection, row: _RunColumns) -> OpenRun:
    key, run = row[0], _run(row)
    orders = connection.execute(
        "SELECT number, record, sent FROM orders WHERE run = ? ORDER BY number", (key,)
    )
    keys = connection.execute(
        "SELECT key, number FROM keys WHERE run = ? ORDER BY number, key", (key,)
    )
    return OpenRun(
        run,
        tuple(OpenOrder(decode_order(run.id, n, record), bool(sent)) for n, record, sent in orders),
        {key: OrderNumber(number) for key, number in keys},
    )
