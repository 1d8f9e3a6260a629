"""A journal's file without a gateway: what is damaged in it is found, and where."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from fleetgate.core.events import Outcome, Reason, Recorded, RunAssigned, RunFinished, RunState
from fleetgate.core.ids import Epoch, OrderNumber, RunId, Seq, WorkerId
from fleetgate.core.journal import offline, tables
from fleetgate.core.journal.api import Append, JournalError, JournalLocked, PutKey, PutOrder, PutRun
from fleetgate.core.journal.lock import locked
from fleetgate.core.journal.offline import Damage, Seen, events_of, opened, verify
from fleetgate.core.journal.samples import ended, make_events, make_order, make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.run import Run

DONE = RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
W, E = WorkerId("hosts/h"), Epoch(1)


def assigned(run: Run) -> Recorded:
    """The first event of a run."""
    return Recorded(run.id, Seq(1), 1_000, RunAssigned(W, E))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with an open run of three events and an ended one of two."""
    path = tmp_path / "journal.db"
    trio.run(fill, path)
    return path


async def fill(path: Path) -> None:
    async with open_sqlite_journal(path) as journal:
        run, gone = make_run("a"), make_run("b")
        await journal.commit([PutRun(run), PutRun(gone), PutOrder(make_order(run.id, 1))])
        await journal.commit([PutKey(run.id, "key", OrderNumber(1))])
        events = (assigned(run), *make_events(run.id, 2, 2))
        at_work = attrs.evolve(run, state=RunState.RUNNING, last_seq=Seq(3), worker=W, epoch=E)
        await journal.commit([Append(run.id, events, 3, at_work)])
        said = (assigned(gone), attrs.evolve(assigned(gone), seq=Seq(2), event=DONE))
        gone = attrs.evolve(ended(gone, 2), worker=W, epoch=E)
        await journal.commit([Append(gone.id, said, 2, gone)])


def damage(path: Path) -> list[Damage]:
    with opened(path) as connection:
        return list(verify(connection, Seen()))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_journal_that_is_whole(path: Path) -> None:
    seen = Seen()
    with opened(path) as connection:
        assert list(verify(connection, seen)) == []
    assert seen == Seen(runs=2, events=5)


FIRST, SECOND = 1 << 32, 2 << 32


@pytest.mark.parametrize(
    ("statement", "what", "run", "seq"),
    [
        (f"DELETE FROM events WHERE place = {FIRST + 2}", "2 is missing; 3 comes next", "a", 2),
        (f"DELETE FROM events WHERE place = {FIRST + 3}", "its last event is 3; 2 is", "a", 2),
        (f"UPDATE events SET record = x'ff' WHERE place = {FIRST + 1}", "be read", "a", 1),
        (f"UPDATE events SET record = x'' WHERE place = {FIRST + 1}", "be read", "a", 1),
        (f"UPDATE events SET place = {SECOND + 3} WHERE place = {FIRST + 3}", "3; 2 is", "a", 2),
        ("UPDATE runs SET last_seq = 9 WHERE id = 'gui/a'", "last event is 9; 3 is", "a", 3),
        ("UPDATE runs SET open = 1 WHERE id = 'gui/b'", "columns are not as", "b", None),
        ("UPDATE runs SET acknowledged = 7 WHERE id = 'gui/b'", "columns are not as", "b", None),
        ("DELETE FROM records WHERE run = 2", "missing or cannot be read", "b", None),
        ("DELETE FROM runs WHERE id = 'gui/a'", "3 rows of the table events", None, None),
        ("INSERT INTO keys VALUES (9, 'k', 1)", "1 rows of the table keys", None, None),
    ],
)
def test_damage_is_found_and_placed(
    path: Path, statement: str, what: str, run: str | None, seq: int | None
) -> None:
    change(path, statement)
    first = damage(path)[0]
    assert what in first.what
    assert (first.run, first.seq) == (run and f"gui/{run}", seq)


async def alter(path: Path) -> None:
    async with open_sqlite_journal(path) as journal:
        run = await journal.get(RunId("gui/a"))
        assert isinstance(run, Run)
        await journal.commit([PutRun(attrs.evolve(run, model="another", approvals=("x",)))])


def test_a_row_that_is_not_what_its_events_make_of_it(path: Path) -> None:
    trio.run(alter, path)
    assert [each.what for each in damage(path)] == [
        "its row's model is not what its events make of it",
        "its row's approvals is not what its events make of it",
    ]


def test_events_behind_an_end(path: Path) -> None:
    text = f"SELECT {SECOND + 3}, record FROM events WHERE place = {SECOND + 1}"
    change(path, f"INSERT INTO events {text}")
    (found,) = damage(path)
    assert (found.run, found.seq) == ("gui/b", 3)
    assert "cannot follow" in found.what


def test_a_page_that_is_overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-4096, 2)
        file.write(b"\xff" * 64)
    assert damage(path)[0].what.startswith("the file: ")
    assert all("\n" not in each.what for each in damage(path))


def test_what_its_reader_meets_elsewhere_is_no_fault_of_the_journal(path: Path) -> None:
    """As the disk that an export is written to, which is full."""
    with pytest.raises(OSError, match="No space left"), opened(path):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_whose_it_is_and_whether_it_is_one(path: Path, tmp_path: Path) -> None:
    with locked(path), pytest.raises(JournalLocked, match="in use by process"), opened(path):
        pass
    with pytest.raises(JournalError, match="there is no journal at"), opened(tmp_path / "none"):
        pass
    change(tmp_path / "other.db", "CREATE TABLE t (x)")
    with pytest.raises(JournalError, match="not a journal"), opened(tmp_path / "other.db"):
        pass
    change(path, "UPDATE meta SET value = 99 WHERE name = 'version'")
    with pytest.raises(JournalError, match="has version 99"), opened(path):
        pass


def test_everything_is_read_and_compacting_leaves_it(path: Path) -> None:
    change(path, "CREATE TABLE large (x)", "INSERT INTO large VALUES (zeroblob(4000000))")
    change(path, "DROP TABLE large")
    before = path.stat().st_size
    with opened(path) as connection:
        offline.compact(connection)
        assert path.stat().st_size < before // 4
        runs = list(offline.runs_in(connection))
        assert [run.id for run in runs] == ["gui/a", "gui/b"]
        seqs = [[each.seq for each in offline.events_of(connection, run.id)] for run in runs]
        assert seqs == [[1, 2, 3], [1, 2]]
    assert damage(path) == []


@pytest.mark.limit("core/journal/offline.BATCH_SIZE")
def test_i9_events_are_read_so_many_bytes_at_a_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, sizes = tables.read, list[int]()

    def noted(*args: Any) -> Sequence[Recorded]:
        found = read(*args)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(tables, "read", noted)
    monkeypatch.setattr(offline, "BATCH_SIZE", 1)
    with opened(path) as connection:
        assert [each.seq for each in events_of(connection, RunId("gui/a"))] == [1, 2, 3]
    assert sizes == [1, 1, 1, 0]
