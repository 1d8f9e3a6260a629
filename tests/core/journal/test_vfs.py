"""The disk under SQLite: what it is told, what it refuses, and what a journal makes of that."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import trio
import trio.testing

from fleetgate.core.ids import Seq
from fleetgate.core.journal import vfs
from fleetgate.core.journal.api import Append, Journal, JournalFailing, PutNote, PutRun
from fleetgate.core.journal.samples import Answers, all_events, make_events, make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.journal.testing import check_failing
from fleetgate.core.journal.vfs import Disk, FailingDisk, sqlite_on


class Told(Disk):
    """What a disk was told, in short."""

    def __init__(self) -> None:
        self.came: list[str] = []

    def write(self, name: str, offset: int, data: bytes) -> int:
        self.came.append(f"write {Path(name).name}")
        return vfs.OK

    def sync(self, name: str, folder: bool) -> int:
        self.came.append(f"sync {Path(name).name}" + " and its folder" * folder)
        return vfs.OK

    def delete(self, name: str, safe: bool) -> int:
        self.came.append(f"delete {Path(name).name}")
        return vfs.OK


def test_a_disk_is_told_of_everything_in_order(tmp_path: Path) -> None:
    disk = Told()
    with sqlite_on(disk), closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    short = [told for at, told in enumerate(disk.came) if told not in disk.came[:at]]
    assert short == [
        "write a.db-journal",
        "sync a.db-journal and its folder",
        "sync a.db-journal",
        "write a.db",
        "sync a.db",
        "delete a.db-journal",
    ]


def test_afterwards_the_disk_is_the_systems_again(tmp_path: Path) -> None:
    disk = Told()
    with sqlite_on(disk):
        pass
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    assert disk.came == []


def test_what_a_disk_raises_comes_out(tmp_path: Path) -> None:
    class Broken(Disk):
        def write(self, name: str, offset: int, data: bytes) -> int:
            raise LookupError("nothing here")

    with (
        pytest.raises(LookupError, match="nothing here"),
        sqlite_on(Broken()),
        closing(sqlite3.connect(tmp_path / "a.db")) as connection,
        pytest.raises(sqlite3.OperationalError, match="disk I/O error"),
    ):
        connection.execute("CREATE TABLE t (x)")


FAULTS = [
    ("write", vfs.FULL),
    ("write", vfs.IOERR_WRITE),
    ("sync", vfs.IOERR_FSYNC),
    ("write", vfs.READONLY),
]
"""A full disk, two kinds of a broken one, and one that has become read-only."""


@pytest.mark.parametrize(("call", "code"), FAULTS)
async def test_a_journal_waits_for_a_disk_that_fails(
    call: str, code: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    disk = FailingDisk()

    def fail(on: bool) -> None:
        disk.codes = {call: code} if on else {}

    with sqlite_on(disk):
        await check_failing(lambda name: open_sqlite_journal(tmp_path / f"{name}.db"), fail)


async def until_it_fails(journal: Journal) -> str:
    """Write until what is spared is used up; answers why it failed."""
    for number in range(100):
        try:
            await journal.commit([PutNote("a", str(number), bytes(6_000))])
        except JournalFailing as error:
            return str(error)
    raise AssertionError("it never failed")


async def until_it_works(journal: Journal) -> None:
    works = trio.Event()
    journal.watch(lambda failing: works.set() if failing is None else None)
    if journal.pressure().failing is not None:
        await works.wait()


@pytest.mark.parametrize(("call", "code"), FAULTS)
async def test_what_is_there_can_be_read_meanwhile_and_nothing_is_half(
    call: str, code: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """It fails in the midst of a commit, each time one write later."""
    disk, run, answers = FailingDisk(), make_run("a"), Answers()
    with sqlite_on(disk):
        async with open_sqlite_journal(tmp_path / "journal.db") as journal:
            await journal.commit([PutRun(run)])
            for number in range(8):
                disk.codes, disk.spared = {call: code}, number
                events = make_events(run.id, 2 * number + 1, 2, 6_000)
                journal.enqueue([Append(run.id, events, 2 * number + 2)], answers.done(""))
                assert "SQLITE_" in await until_it_fails(journal)
                kept = 2 * len(answers.came)
                assert len(await journal.read(run.id, Seq(0), items=99, size=1 << 20)) == kept
                disk.codes = {}
                await until_it_works(journal)
                await answers.wait(number + 1)
            assert await all_events(journal, run.id) == make_events(run.id, 1, 16, 6_000)
        async with open_sqlite_journal(tmp_path / "journal.db") as journal:
            assert await all_events(journal, run.id) == make_events(run.id, 1, 16, 6_000)


async def test_what_cannot_be_read_is_said_and_may_pass(tmp_path: Path) -> None:
    disk, run = FailingDisk(), make_run("a")
    with sqlite_on(disk):
        async with open_sqlite_journal(tmp_path / "journal.db") as journal:
            await journal.commit([PutRun(run), Append(run.id, make_events(run.id, 1, 3), 3)])
            disk.codes = {"read": vfs.IOERR_READ}
            with pytest.raises(JournalFailing, match="SQLITE_IOERR"):
                await all_events(journal, run.id)
            disk.codes = {}
            assert len(await all_events(journal, run.id)) == 3
