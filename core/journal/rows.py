"""Writes made ready for a journal: checked, encoded, sized.

This happens when they are enqueued, in the caller's thread and before anything is
changed, so a value that cannot be kept fails its own call and never a commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, assert_never

from fleetgate.core.ids import OrderNumber, RunId
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
    Write,
)
from fleetgate.core.journal.records import (
    Again,
    encode_events,
    encode_order,
    encode_run,
    encode_specs,
)
from fleetgate.core.run import Run
from fleetgate.core.sequence import LAST_SEQ
from fleetgate.core.values import value

NOTE_SIZE: Final = 64 * 1024
"""Bytes of one note. Notes are read a whole space at a time."""

LARGEST: Final = (1 << 63) - 1
"""The largest number that a column holds."""

ROW_SIZE: Final = 64
"""What a row costs beside its bytes, roughly: its key, its cell, its share of an index."""


@value
class RunRow:
    """A run: what is looked for in columns of its own, the rest in records.

    `open`: it has not ended. `pending`: it is open, or its controller has not
    acknowledged its last event.
    """

    id: RunId
    link: str
    state: str
    created: int
    ended: int
    last_seq: int
    native_seq: int
    acknowledged: int
    open: bool
    pending: bool
    record: bytes
    specs: bytes


@value
class EventRows:
    """Events of one run, the first one numbered `first`, and the run behind them if more
    of it changed than its numbers."""

    id: RunId
    first: int
    native_seq: int
    records: tuple[bytes, ...]
    run: RunRow | None

    @property
    def last(self) -> int:
        """The number of the last event."""
        return self.first + len(self.records) - 1


@value
class OrderRow:
    """An order."""

    run: RunId
    number: OrderNumber
    record: bytes


@value
class Standing:
    """What decides whether a row may follow: a run's last event, and whether it is open."""

    last_seq: int
    open: bool


Row: TypeAlias = (
    RunRow | EventRows | OrderRow | PutKey | MarkOrder | PutNote | ForgetRun | FreeForgotten
)


def prepare(write: Write, again: Again | None = None) -> Row:
    """A write as its rows. `again` as for `encode_events`.

    Raises: `ValueError` for what cannot be kept: events that are not one run's next ones,
    a number beyond 63 bits, text without a UTF-8 form, a note that is too large.
    """
    match write:
        case Append():
            return _event_rows(write, again)
        case PutRun():
            return _run_row(write.run, write.run.last_seq, write.run.native_seq)
        case PutOrder():
            return _order_row(write)
        case PutKey():
            _check_text(write.run, write.key)
            _check_numbers(write.number or 0)
            return write
        case MarkOrder():
            _check_text(write.run)
            return write
        case PutNote():
            return _note(write)
        case ForgetRun():
            _check_text(write.run)
            return write
        case FreeForgotten():
            return write
        case _:
            assert_never(write)


def count(row: Row) -> int:
    """How many items of a queue's bound it is."""
    return len(row.records) if isinstance(row, EventRows) else 1


def size(row: Row) -> int:
    """How many bytes of a queue's bound it is, roughly."""
    match row:
        case EventRows():
            run = 0 if row.run is None else size(row.run)
            return run + sum(map(len, row.records)) + ROW_SIZE * len(row.records)
        case RunRow():
            return ROW_SIZE + len(row.record) + len(row.specs)
        case OrderRow():
            return ROW_SIZE + len(row.record)
        case PutNote():
            return ROW_SIZE + len(row.value or b"")
        case PutKey():
            return ROW_SIZE + len(row.key)
        case MarkOrder() | ForgetRun() | FreeForgotten():
            return ROW_SIZE
        case _:
            assert_never(row)


def conflict_of(
    row: RunRow | EventRows | OrderRow | PutKey | ForgetRun, known: Standing | None
) -> JournalConflict | None:
    """How a row contradicts what the journal has of its run (None: nothing), or None where it
    does not. This is where I1 and the half of I5 that a journal sees are held."""
    if isinstance(row, ForgetRun):
        if known is None or not known.open:
            return None
        return JournalConflict(f"run {row.run} is open; only a run that has ended is forgotten")
    if isinstance(row, RunRow):
        last = 0 if known is None else known.last_seq
        if row.last_seq == last:
            return None
        return JournalConflict(
            f"run {row.id} was put as after its event {row.last_seq}; the journal's last is {last}"
        )
    if known is None:
        id = row.run if isinstance(row, OrderRow | PutKey) else row.id
        return JournalConflict(f"the journal does not know the run {id}; put it first")
    if isinstance(row, OrderRow | PutKey):
        return None
    if not known.open:
        return JournalConflict(f"run {row.id} has ended; its event {row.first} cannot follow")
    if row.first != known.last_seq + 1:
        return JournalConflict(
            f"event {row.first} of run {row.id} is not the next: its last is {known.last_seq}"
        )
    return None


def _event_rows(write: Append, again: Again | None) -> EventRows:
    if not write.events:
        raise ValueError(f"an append to run {write.id} needs at least one event")
    first = write.events[0].seq
    for seq, recorded in enumerate(write.events, first):
        if recorded.run != write.id or recorded.seq != seq:
            raise ValueError(
                f"an append to run {write.id} needs its event {seq} here; "
                f"event {recorded.seq} of run {recorded.run} came"
            )
    if write.run is not None and write.run.id != write.id:
        raise ValueError(f"an append to run {write.id} came with the run {write.run.id}")
    _check_text(write.id)
    _check_numbers(first, write.native_seq)
    last = first + len(write.events) - 1
    if last > LAST_SEQ:
        raise ValueError(f"run {write.id} has {LAST_SEQ} events; a journal holds no more of one")
    run = None if write.run is None else _run_row(write.run, last, write.native_seq)
    records = encode_events(write.events, again)
    return EventRows(write.id, first, write.native_seq, records, run)


def _run_row(run: Run, last_seq: int, native_seq: int) -> RunRow:
    open = not run.state.terminal
    _check_text(run.id)
    _check_numbers(last_seq, native_seq)
    return RunRow(
        id=run.id,
        link=run.origin.link,
        state=run.state.value,
        created=run.created,
        ended=run.ended,
        last_seq=last_seq,
        native_seq=native_seq,
        acknowledged=run.acknowledged,
        open=open,
        pending=open or run.acknowledged < last_seq,
        record=encode_run(run),
        specs=encode_specs(run),
    )


def _order_row(write: PutOrder) -> OrderRow:
    order = write.order
    _check_text(order.run)
    _check_numbers(order.number)
    return OrderRow(order.run, order.number, encode_order(order))


def _note(write: PutNote) -> PutNote:
    _check_text(write.space, write.key)
    if write.value is not None and len(write.value) > NOTE_SIZE:
        raise ValueError(
            f"a note has at most {NOTE_SIZE} bytes; {len(write.value)} came for {write.space}"
        )
    return write


def _check_text(*texts: str) -> None:
    for text in texts:
        text.encode()


def _check_numbers(*numbers: int) -> None:
    for number in numbers:
        if not 0 <= number <= LARGEST:
            raise ValueError(f"a journal holds numbers from 0 to {LARGEST}; {number} came")


def prepare_all(writes: Sequence[Write]) -> tuple[Row, ...]:
    """Several writes as their rows. Raises: as `prepare`."""
    again = Again() if len(writes) > 1 else None
    return tuple([prepare(each, again) for each in writes])
