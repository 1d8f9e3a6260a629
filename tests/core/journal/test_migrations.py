"""The steps of a journal's tables: taken once, whole, and never backwards."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fleetgate.core.events import Recorded, TextProduced
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal import tables
from fleetgate.core.journal.api import Append, JournalError, JournalTooNew, PutRun, RunFilter, Write
from fleetgate.core.journal.migrations import STEPS, migrate, version_of
from fleetgate.core.journal.rows import prepare_all
from fleetgate.core.journal.samples import make_events, make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal

FIRST = Path(__file__).with_name("version-1.sql")
"""What the first version wrote, as `sqlite3 journal.db .dump` prints it."""


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def add_labels(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE runs ADD COLUMN label TEXT")
    connection.execute("UPDATE runs SET label = link || ':' || id")


def break_off(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM events")
    connection.execute("INSERT INTO no_such_table VALUES (1)")


def fill(connection: sqlite3.Connection) -> None:
    run = make_run("a")
    writes: list[Write] = [PutRun(run), Append(run.id, make_events(run.id, 1, 3), 3)]
    assert tables.commit(connection, [prepare_all(writes)]) == {}


def test_an_empty_file_of_version_0_becomes_a_journal(tmp_path: Path) -> None:
    (tmp_path / "journal.db").touch()
    with closing(connect(tmp_path / "journal.db")) as connection:
        assert version_of(connection) == 0
        migrate(connection)
        assert version_of(connection) == len(STEPS)
        fill(connection)


def test_a_step_is_taken_once_and_keeps_what_is_there(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "journal.db")) as connection:
        migrate(connection)
        fill(connection)
        for _ in range(2):
            migrate(connection, [*STEPS, add_labels])
            assert version_of(connection) == len(STEPS) + 1
        assert connection.execute("SELECT label FROM runs").fetchall() == [("gui:gui/a",)]
        assert len(tables.read(connection, RunId("gui/a"), 0, 9, 9999)) == 3


def test_a_step_that_fails_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "journal.db")) as connection:
        migrate(connection)
        fill(connection)
        with pytest.raises(sqlite3.OperationalError, match="no_such_table"):
            migrate(connection, [*STEPS, add_labels, break_off])
        assert version_of(connection) == len(STEPS) + 1
        assert len(tables.read(connection, RunId("gui/a"), 0, 9, 9999)) == 3
        migrate(connection, [*STEPS, add_labels])


def test_a_newer_journal_is_refused(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "journal.db")) as connection:
        migrate(connection, [*STEPS, add_labels])
        with pytest.raises(JournalTooNew, match=f"version {len(STEPS) + 1}.* up to {len(STEPS)}"):
            migrate(connection)
        assert version_of(connection) == len(STEPS) + 1


@pytest.mark.parametrize("statement", ["CREATE TABLE mine (x)", "PRAGMA application_id = 7"])
def test_another_programs_file_is_left_alone(tmp_path: Path, statement: str) -> None:
    with closing(connect(tmp_path / "other.db")) as connection:
        connection.execute(statement)
        before = connection.execute("SELECT * FROM sqlite_schema").fetchall()
        with pytest.raises(JournalError, match="not a journal; choose another path"):
            migrate(connection)
        assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = 'abc' WHERE name = 'version'",
        "UPDATE meta SET value = -1 WHERE name = 'version'",
        "UPDATE meta SET value = NULL WHERE name = 'version'",
        "DELETE FROM meta WHERE name = 'version'",
    ],
)
def test_a_journal_that_tells_no_version_is_refused(tmp_path: Path, statement: str) -> None:
    with closing(connect(tmp_path / "journal.db")) as connection:
        migrate(connection)
        connection.execute(statement)
        with pytest.raises(JournalError, match="does not say which version it has"):
            migrate(connection)


async def test_a_journal_of_the_first_version_is_read(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "journal.db")) as connection:
        connection.executescript(FIRST.read_text())
        assert version_of(connection) == 1
    async with open_sqlite_journal(tmp_path / "journal.db") as journal:
        (run,) = await journal.find(RunFilter())
        assert (run.id, run.last_seq, run.native_seq) == ("gui/first", 2, 2)
        events = await journal.read(run.id, Seq(0), items=9, size=9999)
        assert [event.event for event in events] == [TextProduced("hello"), TextProduced("again")]
        assert isinstance(events[0], Recorded)
        (open_run,) = await journal.open_runs()
        assert [order.sent for order in open_run.orders] == [True]
        assert open_run.keys == {"key": 1}
        assert await journal.notes("space") == {"name": b"value"}
