"""Forgotten runs: gone at once, freed bit by bit, and no other run meets what they left."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal import forgetting, tables
from fleetgate.core.journal.api import Append, ForgetRun, FreeForgotten, PutRun, RunFilter, Write
from fleetgate.core.journal.forgetting import FREE_AT_ONCE
from fleetgate.core.journal.migrations import migrate
from fleetgate.core.journal.offline import Seen, verify
from fleetgate.core.journal.rows import prepare_all
from fleetgate.core.journal.samples import ended, make_events, make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.run import Run


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as connection:
        migrate(connection)
        yield connection


def commit(connection: sqlite3.Connection, *writes: Write) -> None:
    assert tables.commit(connection, [prepare_all(writes)]) == {}


def add(connection: sqlite3.Connection, name: str, count: int) -> Run:
    """A run that has ended, with so many events."""
    run = make_run(name)
    events = make_events(run.id, 1, count)
    commit(connection, PutRun(run), Append(run.id, events, 0, ended(run, count, count)))
    return run


def count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.limit("core/journal/forgetting.FREE_AT_ONCE")
def test_i9_a_long_run_is_freed_in_steps(connection: sqlite3.Connection) -> None:
    run = add(connection, "a", 2 * FREE_AT_ONCE + 1)
    commit(connection, ForgetRun(run.id))
    assert tables.read(connection, run.id, 0, 9, 9999) == []
    assert [count(connection, table) for table in ("records", "specs")] == [0, 0]
    for left in (FREE_AT_ONCE + 1, 1, 0):
        assert forgetting.unfreed(connection)
        commit(connection, FreeForgotten())
        assert count(connection, "events") == left
    assert not forgetting.unfreed(connection)
    assert count(connection, "runs") == 0
    commit(connection, FreeForgotten())


def test_a_new_run_does_not_meet_what_an_old_one_left(connection: sqlite3.Connection) -> None:
    """It gets a number of its own, also where the old one's was the last."""
    old = add(connection, "a", 3)
    commit(connection, ForgetRun(old.id))
    again = add(connection, "a", 2)
    assert [each.seq for each in tables.read(connection, again.id, 0, 9, 9999)] == [1, 2]
    assert list(verify(connection, Seen()))[1:] == []  # but that samples do not follow
    commit(connection, FreeForgotten())
    assert count(connection, "events") == 2
    assert [run.id for run in tables.find(connection, RunFilter())] == [again.id]


def test_what_is_forgotten_is_in_no_list(connection: sqlite3.Connection) -> None:
    one, other = add(connection, "a", 1), add(connection, "b", 1)
    commit(connection, ForgetRun(one.id), ForgetRun(one.id))
    for which in (RunFilter(), RunFilter("gui"), RunFilter("gui", unacknowledged=True)):
        found = [run.id for run in tables.find(connection, which)]
        assert found == ([] if which.unacknowledged else [other.id])
    assert forgetting.ended(connection, 1 << 62, True, 9) == [other.id]
    assert forgetting.ended(connection, 1 << 62, False, 9) == []


def test_i9_looking_for_what_may_go_reads_no_more_than_that(connection: sqlite3.Connection) -> None:
    add(connection, "a", 1)
    ran: list[str] = []
    connection.set_trace_callback(ran.append)
    forgetting.ended(connection, 1 << 62, True, 9)
    forgetting.unfreed(connection)
    connection.set_trace_callback(None)
    for statement in ran:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert len(plan) == 1, plan
        assert "USING INDEX runs_ended (pending=? AND ended" in plan[0], plan


async def test_what_was_not_freed_is_freed_after_a_restart(tmp_path: Path) -> None:
    run = make_run("a")
    async with open_sqlite_journal(tmp_path / "journal.db") as journal:
        events = make_events(run.id, 1, 100, 5_000)
        await journal.commit([PutRun(run), Append(run.id, events, 0, ended(run, 100))])
        full = await journal.used()
        await journal.commit([ForgetRun(run.id)])
    async with open_sqlite_journal(tmp_path / "journal.db") as journal:
        assert await journal.unfreed()
        await journal.commit([FreeForgotten()])
        assert not await journal.unfreed()
        assert await journal.used() < full // 4
        assert await journal.get(RunId("gui/a")) is None
        assert await journal.read(run.id, Seq(0), items=9, size=999) == []
