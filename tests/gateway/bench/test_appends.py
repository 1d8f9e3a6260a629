"""The bench of the journal: how it is run, and what its samples come to. Never how fast it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import Done, JournalFailing, Write
from fleetgate.core.journal.sqlite import SqliteJournal
from fleetgate.core.run import Run
from fleetgate.gateway.bench import appends
from fleetgate.gateway.bench.appends import AppendPlan, AppendSample
from fleetgate.gateway.bench.losses import Losses


def test_batches_take_turns_and_nothing_is_left(tmp_path: Path) -> None:
    samples = appends.measure(tmp_path, AppendPlan((1, 5), rounds=2, seconds=0.0), Losses())
    assert [sample.batch for sample in samples] == [1, 5, 1, 5]
    assert [len(sample.commits) for sample in samples] == [1, 1, 1, 1]
    assert all(commit > 0 for sample in samples for commit in sample.commits)
    assert all(sample.size > 0 for sample in samples)
    assert list(tmp_path.iterdir()) == []


def lost(disk: Path) -> list[str]:
    losses = Losses()
    assert appends.measure(disk, AppendPlan((1,), rounds=1, seconds=0.0), losses) == []
    assert list(disk.iterdir()) == []
    return losses.lines


def test_a_journal_that_keeps_less_than_it_was_given_has_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forget(self: SqliteJournal, run: RunId) -> Run | None:
        return None

    monkeypatch.setattr(SqliteJournal, "get", forget)
    assert lost(tmp_path) == ["1 events a commit: the journal holds None events of 1"]


def test_a_journal_that_does_not_commit_has_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = SqliteJournal.enqueue

    def refuse(
        self: SqliteJournal, writes: Sequence[Write], done: Done, *, may_fail: bool = False
    ) -> None:
        if may_fail:
            put(self, writes, done, may_fail=True)
        else:
            done(JournalFailing("the disk is full"))

    monkeypatch.setattr(SqliteJournal, "enqueue", refuse)
    assert lost(tmp_path) == ["1 events a commit: the journal did not commit: the disk is full"]


def test_a_figure_is_the_median_of_the_rounds() -> None:
    ms = 1_000_000
    samples = [
        AppendSample(10, (1 * ms, 1 * ms), 4000),
        AppendSample(1, (2 * ms,)),
        AppendSample(10, (4 * ms,)),
        AppendSample(10, (2 * ms,)),
    ]
    ten, one = appends.sum_up(samples)
    assert (ten.batch, ten.rate, ten.least, ten.most) == (10, 5_000, 2_500, 10_000)
    assert (ten.commit_p50, ten.commit_p99) == (1_000, 4_000)
    assert (one.batch, one.rate) == (1, 500)
    assert (ten.size, ten.syncs) == (200, 500)
    assert appends.row(ten) == ("10", "5000", "2500 to 10000", "500", "1000", "4000", "200")
    assert len(appends.HEAD) == len(appends.row(ten))
