"""The parts of an event's way do what the gateway does."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.core.events import TextProduced
from fleetgate.core.journal.records import decode_event
from fleetgate.core.journal.rows import EventRows
from fleetgate.gateway.bench.pieces import AT_ONCE, KODELET, NEXT, PIECES, RELAYED, recorded
from fleetgate.protocols.kodelet.translate_events import text_of

SIZE = 100


def made(part: str) -> Any:
    return PIECES[part](SIZE)()


@pytest.mark.parametrize("part", PIECES)
def test_a_turn_is_of_so_many_events_and_the_next_one_is_alike(part: str) -> None:
    work = PIECES[part](SIZE)
    first = work()
    if isinstance(first, EventRows):
        assert first == work()
        return
    assert len(first) == AT_ONCE  # type: ignore[arg-type]
    assert first == work()


def test_what_is_read_is_what_was_written() -> None:
    lines = [each.event.text for each in recorded(SIZE) if isinstance(each.event, TextProduced)]
    assert {len(line) for line in lines} == {SIZE}
    assert [each.data.decode() for each in made("rvbox: output read")] == lines
    assert [each.delta for each in made("iop: a delta read")] == lines
    assert [text for _, _, text in made("agency: a text read")] == lines
    assert made("bytes to text") == lines
    updates = made(KODELET)
    assert [each.result.structured.metadata["output"] for each in updates] == lines
    assert made(NEXT) == [(each.sequence, text_of(each.result)) for each in updates]
    assert [len(message) for message in made("WebSocket: a masked message read")] == [210] * AT_ONCE


def test_a_record_holds_its_event() -> None:
    rows = made("journal: the record, in protobuf")
    first = recorded(SIZE)[0]
    assert decode_event(first.run, first.seq, rows.records[0]) == first
    assert made("core: the event, its `Source` and its `Recorded`") == list(recorded(SIZE))


def test_what_a_relay_has_is_among_them() -> None:
    assert set(PIECES) > RELAYED
