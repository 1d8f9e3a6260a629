"""The SQLite journal passes what every journal passes, on a failing disk too."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path

import pytest
import trio
import trio.testing

from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal import sqlite
from fleetgate.core.journal.api import (
    Append,
    Journal,
    JournalDamaged,
    JournalError,
    JournalFailing,
    JournalLocked,
    JournalTooNew,
    PutNote,
    PutRun,
    RunFilter,
)
from fleetgate.core.journal.checks_kept import check_reopened
from fleetgate.core.journal.migrations import STEPS
from fleetgate.core.journal.rows import NOTE_SIZE
from fleetgate.core.journal.samples import Answers, ended, make_events, make_run
from fleetgate.core.journal.sqlite import (
    CACHE_SIZE,
    LOG_SIZE,
    READ_CACHE_SIZE,
    SqliteJournal,
    connect_to_read,
    open_sqlite_journal,
)
from fleetgate.core.journal.testing import CHECKS, Check, check_failing


class Disk:
    """A file's connection that writes, in the test's hands."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.connections: list[sqlite3.Connection] = []

    def open(self, name: str) -> AbstractAsyncContextManager[SqliteJournal]:
        return open_sqlite_journal(self._folder / f"{name}.db", connect=self._connect)

    def pragma(self, setting: str) -> None:
        for connection in self.connections:
            connection.execute(f"PRAGMA {setting}").fetchall()

    def _connect(self, path: Path) -> sqlite3.Connection:
        self.connections.append(sqlite.connect(path))
        return self.connections[-1]


@pytest.mark.parametrize("check", [*CHECKS, check_reopened])
async def test_sqlite(check: Check, tmp_path: Path) -> None:
    await check(lambda name: open_sqlite_journal(tmp_path / f"{name}.db"))


async def test_a_file_that_cannot_be_written(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    disk = Disk(tmp_path)
    await check_failing(disk.open, lambda on: disk.pragma(f"query_only = {on:d}"))


async def test_a_full_disk(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    disk, run, answers = Disk(tmp_path), make_run("a"), Answers()
    async with disk.open("full") as journal:
        await journal.commit([PutRun(run)])
        disk.pragma("max_page_count = 1")  # SQLite takes this as: no more than there are
        events = make_events(run.id, 1, 4, 60_000)
        journal.enqueue([Append(run.id, events, 4)], answers.done("events"))
        with pytest.raises(JournalFailing, match=r"full \(SQLITE_FULL\)"):
            await journal.commit([PutNote("a", "x", bytes(60_000))])
        assert answers.came == []
        disk.pragma("max_page_count = 1000000")
        await answers.wait(1)
        assert answers.came == [("events", None)]
        assert await journal.notes("a") == {}
        assert len(await journal.read(run.id, Seq(0), items=9, size=1 << 20)) == 4


LIMITED = """
import resource, sys, trio
from fleetgate.core.journal.api import JournalFailing, PutNote
from fleetgate.core.journal.sqlite import open_sqlite_journal

async def main():
    async with open_sqlite_journal(sys.argv[1]) as journal:
        await journal.commit([PutNote("a", "before", b"1")])
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        try:
            for number in range(100):
                await journal.commit([PutNote("a", str(number), bytes(10_000))])
        except JournalFailing as error:
            print("failing", number, error)
        kept = await journal.notes("a")
        assert len(kept) == 1 + number, (len(kept), number)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        recovered = trio.Event()
        journal.enqueue([PutNote("a", "after", b"1")], lambda error: recovered.set())
        await recovered.wait()
        assert len(await journal.notes("a")) == 2 + number
        assert journal.pressure().failing is None
        print("recovered")

trio.run(main)
"""


def test_a_write_that_the_system_refuses(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", LIMITED, str(tmp_path / "journal.db")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    first, second = ran.stdout.splitlines()
    assert first.startswith("failing ")
    assert "SQLITE_" in first
    assert second == "recovered"


async def test_every_commit_is_synced(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    async with disk.open("journal"):
        (connection,) = disk.connections
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


async def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with open_sqlite_journal(tmp_path / "journal.db") as journal:
            await journal.commit([PutNote("a", "x", b"1")])
            modes = modes_in(tmp_path)
    finally:
        os.umask(before)
    names = ["journal.db", "journal.db-shm", "journal.db-wal", "journal.db.lock"]
    assert modes == dict.fromkeys(names, 0o600)
    assert list(modes_in(tmp_path)) == ["journal.db", "journal.db.lock"]


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in sorted(folder.iterdir())}


async def open_and_leave(path: Path) -> None:
    async with open_sqlite_journal(path):
        pass


async def test_a_second_opener_is_told_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with open_sqlite_journal(path):
        with pytest.raises(JournalLocked, match=f"in use by process {os.getpid()}"):
            await open_and_leave(path)
    await open_and_leave(path)


async def test_a_newer_journal_is_refused_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await open_and_leave(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE name = 'version'")
        with pytest.raises(JournalTooNew, match="version 99"):
            await open_and_leave(path)
        connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", (len(STEPS),))
    await open_and_leave(path)


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a shopping list, of more than a few words\n" * 50)
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r"notes.txt cannot be opened: file is not a database"):
        await open_and_leave(path)
    assert path.read_bytes() == before


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"cannot be opened: No such file or directory"):
        await open_and_leave(tmp_path / "none" / "journal.db")


@pytest.mark.parametrize("name", ["a b?c#d%20.db", "é.db"])
async def test_any_name_of_a_file_will_do(tmp_path: Path, name: str) -> None:
    await open_and_leave(tmp_path / name)
    assert (tmp_path / name).exists()


async def test_reads_go_on_while_a_commit_lasts(tmp_path: Path) -> None:
    disk, run = Disk(tmp_path), make_run("a")
    async with disk.open("busy") as journal:
        await journal.commit([PutRun(run)])
        answers = Answers()
        with closing(sqlite3.connect(tmp_path / "busy.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # the journal's own commit waits for this one
            journal.enqueue([PutNote("a", "x", b"1")], answers.done("note"))
            assert [found.id for found in await journal.find(RunFilter())] == [run.id]
            assert await journal.get(run.id) == run
            assert answers.came == []
            other.execute("COMMIT")
        await answers.wait(1)


@pytest.mark.parametrize("record", ["ffff", "", "0801"])
async def test_a_damaged_record_is_said(tmp_path: Path, record: str) -> None:
    """No message, or one that says nothing, or when it was and not what."""
    disk, run = Disk(tmp_path), make_run("a")
    async with disk.open("damaged") as journal:
        await journal.commit([PutRun(run), Append(run.id, make_events(run.id, 1, 1), 1)])
        disk.connections[0].execute(f"UPDATE events SET record = x'{record}'")
        with pytest.raises(JournalDamaged, match=r"is damaged .*journal verify"):
            await journal.read(run.id, Seq(0), items=9, size=99)
        assert await journal.get(run.id) is not None


@pytest.mark.parametrize("table", ["records", "specs"])
async def test_a_list_leaves_out_a_run_whose_record_is_damaged(tmp_path: Path, table: str) -> None:
    """It was refused, whole: an entry that lists its runs as a link comes lost every link."""
    disk, names = Disk(tmp_path), ["a", "b", "c", "d", "e"]
    async with disk.open("damaged") as journal:
        runs = [make_run(name) for name in names]
        await journal.commit([PutRun(run) for run in runs])
        assert not journal.pressure().damaged
        bad = "SELECT run FROM runs WHERE id IN ('gui/b', 'gui/c')"
        disk.connections[0].execute(f"UPDATE {table} SET record = x'ffff' WHERE run IN ({bad})")
        good = [run.id for run in runs if run.id not in ("gui/b", "gui/c")]
        assert [run.id for run in await journal.find(RunFilter())] == good
        assert journal.pressure().damaged
        pages = [await journal.find(RunFilter(), items=n) for n in (1, 2, 3, 9)]
        assert [[run.id for run in page] for page in pages] == [good[:n] for n in (1, 2, 3, 9)]
        (behind,) = await journal.find(RunFilter(), after="gui/a", items=1)
        assert behind.id == "gui/d"
        await journal.commit([PutRun(ended(run, 0)) for run in runs if run.id in good])
        disk.connections[0].execute(f"UPDATE {table} SET record = x'ffff' WHERE run = 1")
        assert {run.id for run in await journal.latest("gui", items=9)} == {*good[1:]}
        with pytest.raises(JournalDamaged, match=r"is damaged .*journal verify"):
            await journal.get(RunId("gui/b"))


async def test_a_page_that_is_none_of_sqlites_is_damage_too(tmp_path: Path) -> None:
    disk, run = Disk(tmp_path), make_run("a")
    async with disk.open("damaged") as journal:
        await journal.commit([PutRun(run), Append(run.id, make_events(run.id, 1, 9), 9)])
        disk.connections[0].execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path = tmp_path / "damaged.db"
        (page,) = disk.connections[0].execute("PRAGMA page_size").fetchone()
        path.write_bytes(path.read_bytes()[:page] + b"\xff" * (path.stat().st_size - page))
        with pytest.raises(JournalDamaged, match="journal verify"):
            await journal.read(run.id, Seq(0), items=9, size=999)


async def test_where_an_event_is_missing_the_next_does_not_take_its_number(tmp_path: Path) -> None:
    disk, run = Disk(tmp_path), make_run("a")
    async with disk.open("damaged") as journal:
        await journal.commit([PutRun(run), Append(run.id, make_events(run.id, 1, 5), 5)])
        disk.connections[0].execute("DELETE FROM events WHERE place % 8 = 3")
        with pytest.raises(JournalDamaged, match=r"is damaged .*journal verify"):
            await journal.read(run.id, Seq(0), items=9, size=9999)
        with pytest.raises(JournalDamaged, match=r"is damaged .*journal verify"):
            await journal.read(run.id, Seq(2), items=9, size=9999)
        assert [each.seq for each in await journal.read(run.id, Seq(0), items=2, size=9999)] == [
            1,
            2,
        ]
        behind = await journal.read(run.id, Seq(3), items=9, size=9999)
        assert [each.seq for each in behind] == [4, 5]


@pytest.mark.limit("core/journal/sqlite.READERS")
async def test_many_readers_share_few_connections(tmp_path: Path) -> None:
    run = make_run("a")
    async with open_sqlite_journal(tmp_path / "journal.db") as journal:
        await journal.commit([PutRun(run), Append(run.id, make_events(run.id, 1, 50), 50)])
        found: list[int] = []

        async def read(journal: Journal) -> None:
            found.append(len(await journal.read(run.id, Seq(0), items=50, size=1 << 20)))

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(read, journal)
        assert found == [50] * 50


@pytest.mark.limit(
    "core/journal/sqlite.LOG_SIZE",
    "core/journal/sqlite.CACHE_SIZE",
    "core/journal/sqlite.READ_CACHE_SIZE",
)
async def test_i9_its_cache_and_its_log_are_bounded(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    async with disk.open("journal") as journal:
        (connection,) = disk.connections
        assert connection.execute("PRAGMA cache_size").fetchone() == (-(CACHE_SIZE >> 10),)
        assert connection.execute("PRAGMA journal_size_limit").fetchone() == (LOG_SIZE,)
        with closing(connect_to_read(tmp_path / "journal.db")) as reader:
            assert reader.execute("PRAGMA cache_size").fetchone() == (-(READ_CACHE_SIZE >> 10),)
        disk.pragma("journal_size_limit = 100000")
        disk.pragma("wal_autocheckpoint = 0")
        log = tmp_path / "journal.db-wal"
        for key in "abcdefgh":
            await journal.commit([PutNote("space", key, bytes(NOTE_SIZE))])
        assert log.stat().st_size > 8 * NOTE_SIZE
        disk.pragma("wal_checkpoint(RESTART)")
        await journal.commit([PutNote("space", "i", b"")])
        assert log.stat().st_size <= 100_000
