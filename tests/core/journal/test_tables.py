"""The SQL of a journal: what it costs, and that a transaction is all or nothing."""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import attrs
import pytest

from fleetgate.core.events import MAX_BODY, OutputProduced, Recorded, Stream
from fleetgate.core.ids import OrderNumber, RunId
from fleetgate.core.journal import tables
from fleetgate.core.journal.api import (
    Append,
    ForgetRun,
    FreeForgotten,
    JournalConflict,
    MarkOrder,
    PutKey,
    PutNote,
    PutOrder,
    PutRun,
    RunFilter,
    Write,
)
from fleetgate.core.journal.migrations import migrate
from fleetgate.core.journal.rows import prepare_all
from fleetgate.core.journal.samples import ended, make_events, make_order, make_run
from fleetgate.core.run import Run


@pytest.fixture
def connection() -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        yield connection


TRANSACTION = {"BEGIN", "COMMIT", "ROLLBACK"}


def commit(connection: sqlite3.Connection, *groups: Sequence[Write]) -> dict[int, JournalConflict]:
    return dict(tables.commit(connection, [prepare_all(group) for group in groups]))


def seqs(found: list[Recorded]) -> list[int]:
    return [recorded.seq for recorded in found]


@contextmanager
def traced(connection: sqlite3.Connection) -> Generator[list[str]]:
    ran: list[str] = []
    connection.set_trace_callback(ran.append)
    yield ran
    connection.set_trace_callback(None)


def verbs(ran: list[str]) -> list[str]:
    return [statement.split()[0] for statement in ran]


def start(connection: sqlite3.Connection, name: str = "a") -> Run:
    run = make_run(name)
    assert commit(connection, [PutRun(run)]) == {}
    return run


def test_an_append_of_numbers_is_one_update_and_one_insert(connection: sqlite3.Connection) -> None:
    run = start(connection)
    with traced(connection) as ran:
        commit(connection, [Append(run.id, make_events(run.id, 1, 3), 3)])
    assert verbs(ran) == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]


def test_events_of_several_runs_are_inserted_together(connection: sqlite3.Connection) -> None:
    runs = [start(connection, name) for name in "abc"]
    with traced(connection) as ran:
        commit(connection, [Append(run.id, make_events(run.id, 1, 3), 7) for run in runs])
    assert verbs(ran) == ["BEGIN", *["UPDATE"] * 3, "INSERT", "COMMIT"]
    for run in runs:
        assert seqs(tables.read(connection, run.id, 0, 9, 1 << 20)) == [1, 2, 3]


def test_a_run_that_is_forgotten_as_it_ends_leaves_nothing(connection: sqlite3.Connection) -> None:
    run, other = start(connection, "a"), start(connection, "b")
    commit(
        connection,
        [Append(other.id, make_events(other.id, 1, 1), 0)],
        [Append(run.id, make_events(run.id, 1, 3), 0, ended(run, 3))],
        [ForgetRun(run.id)],
        [FreeForgotten()],
    )
    assert connection.execute("SELECT count(*) FROM events").fetchall() == [(1,)]
    assert seqs(tables.read(connection, other.id, 0, 9, 1 << 20)) == [1]


def test_a_group_is_one_transaction(connection: sqlite3.Connection) -> None:
    runs = [start(connection, str(number)) for number in range(5)]
    with traced(connection) as ran:
        commit(connection, *([Append(run.id, make_events(run.id, 1, 1), 1)] for run in runs))
    assert verbs(ran) == ["BEGIN", *["UPDATE"] * 5, "INSERT", "COMMIT"]


def test_specs_that_did_not_change_are_not_written(connection: sqlite3.Connection) -> None:
    run = start(connection)
    connection.execute(
        "CREATE TRIGGER watch AFTER UPDATE ON specs BEGIN SELECT RAISE(ABORT, 'written'); END"
    )
    assert commit(connection, [PutRun(run)]) == {}


def test_i9_no_statement_looks_at_every_row(connection: sqlite3.Connection) -> None:
    run, number = start(connection), OrderNumber(1)
    with traced(connection) as ran:
        commit(
            connection,
            [PutOrder(make_order(run.id, 1)), PutKey(run.id, "key", number)],
            [PutKey(run.id, "key", None), PutNote("a", "x", b"1")],
            [Append(run.id, make_events(run.id, 1, 2), 2), PutNote("a", "x", None)],
            [MarkOrder(run.id, number, settled=False), MarkOrder(run.id, number, settled=True)],
            [Append(run.id, make_events(run.id, 3, 1), 3, attrs.evolve(run, model="m"))],
        )
        tables.read(connection, run.id, 0, 9, 999)
        tables.get(connection, run.id)
        tables.notes(connection, "a")
        tables.knows(connection, run.id, "key")
        tables.open_runs(connection)
        tables.find(connection, RunFilter("gui", unacknowledged=True))
    explained = [statement for statement in ran if verbs([statement])[0] not in TRANSACTION]
    assert len(explained) > 20
    for statement in explained:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        whole = [step for step in plan if step.startswith("SCAN") and not _of_few(step)]
        assert not whole, statement


@pytest.mark.parametrize(
    "which",
    [
        RunFilter(),
        RunFilter("gui"),
        RunFilter("gui", open_only=True),
        RunFilter("gui", unacknowledged=True),
    ],
)
def test_i9_a_page_of_runs_costs_a_page(connection: sqlite3.Connection, which: RunFilter) -> None:
    """It is read from where it begins, in order: nothing is sorted or read to be left out."""
    with traced(connection) as ran:
        tables.find(connection, which, "gui/a", 9)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {ran[0]}")]
    assert "id>?" in plan[0], plan
    assert which.link is None or "link=? AND id>?" in plan[0], plan
    assert which.unacknowledged is which.open_only or "runs_pending" in plan[0], plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_i9_the_latest_runs_of_an_entry_cost_what_they_are(connection: sqlite3.Connection) -> None:
    with traced(connection) as ran:
        tables.latest(connection, "gui", 9)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {ran[0]}")]
    assert "USING INDEX runs_latest (link=?)" in plan[0], plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


def _of_few(step: str) -> bool:
    """Whether a scan is of an index's part, or of the rows that the statement itself lists."""
    return "USING INDEX" in step or "CONSTANT ROW" in step


def test_listing_runs_touches_no_event(connection: sqlite3.Connection) -> None:
    run = start(connection)
    commit(connection, [Append(run.id, make_events(run.id, 1, 3), 3)])
    connection.execute("DROP TABLE events")
    assert [found.last_seq for found in tables.find(connection, RunFilter())] == [3]
    found = tables.get(connection, run.id)
    assert found is not None
    assert found.last_seq == 3


def test_an_error_leaves_no_trace_of_any_group(connection: sqlite3.Connection) -> None:
    run = start(connection)
    connection.execute(
        "CREATE TRIGGER full BEFORE INSERT ON notes BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    append = Append(run.id, make_events(run.id, 1, 1), 1)
    with pytest.raises(sqlite3.IntegrityError, match="full"):
        commit(connection, [append], [PutNote("a", "x", b"")])
    assert not connection.in_transaction
    assert tables.read(connection, run.id, 0, 9, 9) == []
    connection.execute("DROP TRIGGER full")
    assert commit(connection, [append]) == {}


def test_all_but_the_contradicting_groups_are_kept(connection: sqlite3.Connection) -> None:
    run, strange = start(connection), RunId("no/run")
    refused = commit(
        connection,
        [Append(run.id, make_events(run.id, 1, 2), 2)],
        [PutNote("a", "x", b""), Append(run.id, make_events(run.id, 9, 1), 9)],
        [PutOrder(make_order(strange, 1))],
        [Append(run.id, make_events(run.id, 3, 1), 3)],
    )
    assert {index: str(error) for index, error in refused.items()} == {
        1: "event 9 of run gui/a is not the next: its last is 2",
        2: "the journal does not know the run no/run; put it first",
    }
    assert seqs(tables.read(connection, run.id, 0, 9, 999)) == [1, 2, 3]
    assert tables.notes(connection, "a") == {}


def test_without_groups_it_is_found_out_whether_writing_works(
    connection: sqlite3.Connection,
) -> None:
    assert commit(connection) == {}
    connection.execute("PRAGMA query_only = ON")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        commit(connection)


def test_runs_do_not_run_into_each_other(connection: sqlite3.Connection) -> None:
    one, two, three = (start(connection, name) for name in "abc")
    for run in (three, one, two):
        commit(connection, [Append(run.id, make_events(run.id, 1, 2), 2)])
    for run in (one, two, three):
        found = tables.read(connection, run.id, 1, 99, 9999)
        assert [(recorded.run, recorded.seq) for recorded in found] == [(run.id, 2)]


def test_an_order_that_is_put_again_is_not_sent(connection: sqlite3.Connection) -> None:
    run = start(connection)
    order = make_order(run.id, 1)
    commit(connection, [PutOrder(order), MarkOrder(run.id, OrderNumber(1), settled=False)])
    assert [found.sent for found in tables.open_runs(connection)[0].orders] == [True]
    commit(connection, [PutOrder(order)])
    assert [found.sent for found in tables.open_runs(connection)[0].orders] == [False]


def test_an_ended_run_is_not_open(connection: sqlite3.Connection) -> None:
    run = start(connection)
    commit(connection, [Append(run.id, make_events(run.id, 1, 1), 1, ended(run, 1))])
    assert tables.open_runs(connection) == []
    assert not connection.in_transaction


@pytest.mark.limit("core/journal/tables.EVENTS_AT_ONCE")
@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 200])
def test_a_long_append_is_whole_and_takes_few_statements(
    connection: sqlite3.Connection, count: int
) -> None:
    run = start(connection)
    events = make_events(run.id, 1, count)
    with traced(connection) as ran:
        assert commit(connection, [Append(run.id, events, count)]) == {}
    inserts = [statement for statement in ran if statement.startswith("INSERT INTO events")]
    assert len(inserts) == -(-count // 64)
    assert tables.read(connection, run.id, 0, 999, 1 << 20) == list(events)


class Watched(sqlite3.Connection):
    """Notes how many bytes the records have that each statement inserts."""

    inserted: Sequence[tuple[int, ...]] = ()

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        if sql.startswith("INSERT INTO events"):
            self.inserted = (*self.inserted, tuple(map(len, parameters[1::2])))
        return super().execute(sql, parameters)


@pytest.mark.limit("core/journal/tables.SIZE_AT_ONCE")
def test_i9_a_statement_inserts_and_so_keeps_few_bytes() -> None:
    sizes = [MAX_BODY, 9, 9, 20_000, 20_000, 20_000, 20_000, 30_000, 30_000, MAX_BODY, MAX_BODY]
    with closing(sqlite3.connect(":memory:", isolation_level=None, factory=Watched)) as connection:
        migrate(connection)
        run = start(connection)
        events = tuple(
            attrs.evolve(each, event=OutputProduced(Stream.STDOUT, bytes(size)))
            for each, size in zip(make_events(run.id, 1, len(sizes)), sizes, strict=True)
        )
        assert commit(connection, [Append(run.id, events, 0)]) == {}
        assert [len(each) for each in connection.inserted] == [1, 5, 2, 1, 1, 1]
        most = [sum(each) for each in connection.inserted if len(each) > 1]
        assert max(most) <= tables.SIZE_AT_ONCE
        assert tables.read(connection, run.id, 0, 999, 1 << 20) == list(events)
