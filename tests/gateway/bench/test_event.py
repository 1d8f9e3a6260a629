"""What an event costs in its parts. Never how much."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from fleetgate.core.journal.api import JournalError
from fleetgate.gateway.bench import event
from fleetgate.gateway.bench.event import AGAIN, SQLITE, WAYS, EventPlan, EventSample
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.pieces import PIECES, RELAYED


def test_every_part_is_measured_at_every_size_and_nothing_is_left(tmp_path: Path) -> None:
    losses = Losses()
    samples = event.measure(tmp_path, EventPlan(sizes=(64, 100), turns=2), losses)
    parts = [*PIECES, SQLITE, AGAIN]
    assert sorted((each.part, each.size) for each in samples) == sorted(
        (part, size) for part in parts for size in (64, 100)
    )
    assert {len(each.turns) for each in samples} == {2}
    assert all(spent >= 0 for each in samples for spent in each.turns)
    assert losses.lines == []
    assert list(tmp_path.iterdir()) == []
    assert gc.isenabled()


def test_a_figure_is_the_least_of_the_turns() -> None:
    part = "Unix socket: a frame written"
    samples = [EventSample(part, 256, (3.0, 1.25, 2.0)), EventSample(part, 4096, (4.0,))]
    samples.append(EventSample(SQLITE, 256, (2.5,)))
    assert [event.row(figure) for figure in event.sum_up(samples)] == [
        (part, "1.2", "4.0", "yes"),
        (SQLITE, "2.5", "", ""),
    ]
    assert len(event.HEAD) == 4


def test_a_way_is_the_sum_of_its_parts_where_all_were_measured() -> None:
    parts = WAYS["**together, rvbox to agency**"]
    samples = [EventSample(part, 256, (nth,)) for nth, part in enumerate(parts, 1)]
    samples += [EventSample(part, 4096, (1.0,)) for part in parts[1:]]
    (way,) = event.sum_up(samples)[len(parts) :]
    assert way.micros == {256: sum(range(1, len(parts) + 1))}
    assert {part for way in WAYS.values() for part in way} <= {*PIECES, SQLITE} - RELAYED


def test_a_journal_that_fails_costs_the_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise JournalError("no room")

    monkeypatch.setattr(event, "open_sqlite_journal", refuse)
    losses = Losses()
    samples = event.measure(tmp_path, EventPlan(sizes=(64,), turns=1), losses)
    assert {each.part for each in samples} == set(PIECES)
    assert losses.lines == ["a journal's parts, 64 bytes: no room"]
