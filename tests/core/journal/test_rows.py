"""Rows: what a write becomes, and the one rule about what may follow what."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given

from fleetgate.core.commands import Order
from fleetgate.core.events import Recorded
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.core.journal.api import Append, MarkOrder, PutKey, PutNote, PutOrder, PutRun
from fleetgate.core.journal.records import decode_event
from fleetgate.core.journal.rows import (
    NOTE_SIZE,
    EventRows,
    OrderRow,
    RunRow,
    Standing,
    conflict_of,
    count,
    prepare,
    size,
)
from fleetgate.core.journal.samples import ended, make_events, make_run
from fleetgate.core.run import Run
from fleetgate.core.sequence import LAST_SEQ
from fleetgate.core.testing import histories, orders, runs


@given(histories())
def test_events_keep_their_records_in_order(history: tuple[Recorded, ...]) -> None:
    if not history:
        return
    row = prepare(Append(history[0].run, history, 7))
    assert isinstance(row, EventRows)
    assert (row.first, row.last, row.native_seq) == (1, len(history), 7)
    found = [decode_event(row.id, Seq(seq), r) for seq, r in enumerate(row.records, row.first)]
    assert found == list(history)
    assert count(row) == len(history)
    assert size(row) >= sum(map(len, row.records))


@given(runs())
def test_a_run_is_pending_until_it_ended_and_is_acknowledged(run: Run) -> None:
    row = prepare(PutRun(run))
    assert isinstance(row, RunRow)
    assert row.open == (not run.state.terminal)
    assert row.pending == (row.open or run.acknowledged < run.last_seq)
    assert (row.link, row.last_seq) == (run.origin.link, run.last_seq)
    assert size(row) > len(row.specs)


@given(orders())
def test_an_order_keeps_its_place(order: Order) -> None:
    row = prepare(PutOrder(order))
    assert isinstance(row, OrderRow)
    assert (row.run, row.number) == (order.run, order.number)


def test_other_writes_are_rows_already() -> None:
    for write in (
        MarkOrder(RunId("a"), OrderNumber(1), settled=True),
        PutKey(RunId("a"), "key", OrderNumber(1)),
        PutKey(RunId("a"), "key", None),
        PutNote("space", "key", b"x" * NOTE_SIZE),
        PutNote("space", "key", None),
    ):
        assert prepare(write) is write
        assert count(write) == 1
        assert size(write) > 0


def test_a_run_has_a_last_event_that_a_key_can_hold() -> None:
    run = RunId("a")
    assert isinstance(prepare(Append(run, make_events(run, LAST_SEQ, 1), 0)), EventRows)
    with pytest.raises(ValueError, match="a journal holds no more of one"):
        prepare(Append(run, make_events(run, LAST_SEQ, 2), 0))


def test_an_append_brings_no_other_run() -> None:
    run = RunId("a")
    with pytest.raises(ValueError, match="came with the run gui/b"):
        prepare(Append(run, make_events(run, 1, 1), 0, make_run("b")))


@pytest.mark.parametrize("last", [None, 0, 1, 5])
def test_i1_only_the_next_event_follows(last: int | None) -> None:
    run = make_run("a")
    known = None if last is None else Standing(last, open=True)
    for first in range(1, 8):
        row = prepare(Append(run.id, make_events(run.id, first, 2), 0))
        assert isinstance(row, EventRows)
        assert (conflict_of(row, known) is None) == (last is not None and first == last + 1)


def test_i5_nothing_follows_the_end_but_the_run_may_be_put() -> None:
    run = make_run("a")
    over = Standing(2, open=False)
    row = prepare(Append(run.id, make_events(run.id, 3, 1), 0))
    put = prepare(PutRun(ended(run, 2, acknowledged=2)))
    assert isinstance(row, EventRows)
    assert isinstance(put, RunRow)
    assert "has ended; its event 3 cannot follow" in str(conflict_of(row, over))
    assert conflict_of(put, over) is None


def test_a_run_is_put_at_its_last_event() -> None:
    run = prepare(PutRun(attrs.evolve(make_run("a"), last_seq=Seq(4))))
    new = prepare(PutRun(make_run("a")))
    assert isinstance(run, RunRow)
    assert isinstance(new, RunRow)
    assert conflict_of(run, Standing(4, open=True)) is None
    assert conflict_of(new, None) is None
    assert "the journal's last is 3" in str(conflict_of(run, Standing(3, open=True)))
    assert conflict_of(run, None) is not None
    assert conflict_of(new, Standing(4, open=True)) is not None


def test_ended_runs_are_not_open() -> None:
    row = prepare(PutRun(ended(make_run("a"), 3, acknowledged=3)))
    assert isinstance(row, RunRow)
    assert (row.open, row.pending, row.state) == (False, False, "succeeded")


@pytest.mark.limit("core/journal/rows.NOTE_SIZE")
def test_i9_a_note_above_its_size_is_refused() -> None:
    with pytest.raises(ValueError, match="a note has at most 65536 bytes; 65537 came for space"):
        prepare(PutNote("space", "key", b"x" * (NOTE_SIZE + 1)))
