"""How long a gateway takes to come back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from fleetgate.gateway.bench import recovery, subjects
from fleetgate.gateway.bench.child import open_child
from fleetgate.gateway.bench.losses import Losses
from fleetgate.gateway.bench.recovery import (
    EMPTY,
    FIRST,
    FULL,
    READY,
    REPLAY,
    RecoveryPlan,
    RecoverySample,
)
from fleetgate.gateway.bench.subjects import Subject
from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.transports.api import Link, LinkBroken, LinkClosed, LinkStatistics


@pytest.mark.slow
def test_both_starts_and_the_replay_are_measured(tmp_path: Path) -> None:
    losses = Losses()
    plan = RecoveryPlan(events=3_200, replayed=3_000, open_runs=3, rounds=1)
    samples = recovery.measure(tmp_path, plan, losses)
    assert losses.lines == []
    assert [each.what for each in samples] == [
        *(f"{what}, {journal}" for journal in (EMPTY, FULL) for what in (READY, FIRST)),
        REPLAY,
    ]
    assert all(each.taken > 0 for each in samples)
    assert list(tmp_path.iterdir()) == []


def test_figures_are_in_milliseconds_and_beside_those_of_an_empty_journal() -> None:
    full, empty = f"{READY}, {FULL}", f"{READY}, {EMPTY}"
    taken = {empty: (10,), full: (30, 10, 20), REPLAY: (40,)}
    samples = [RecoverySample(what, each * 10**6) for what in taken for each in taken[what]]
    assert [recovery.row(figure) for figure in recovery.sum_up(samples)] == [
        (empty, "10", "10", ""),
        (full, "20", "10", "2.00"),
        (REPLAY, "40", "40", ""),
    ]


SMALL = RecoveryPlan(events=320, replayed=300, open_runs=3, rounds=1)


@pytest.mark.slow
@pytest.mark.parametrize("trial", ["_fill", "_start", "_replay"])
def test_a_try_that_fails_at_its_end_is_in_nobodys_way(
    trial: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun = getattr(recovery, trial), 0

    async def fail_once(*given: object) -> object:
        nonlocal begun
        begun += 1
        found = await real(*given)
        if begun == 1 or (given[-1:] == (FULL,) and begun == 3):
            raise BenchFailed("the power went")
        return found

    monkeypatch.setattr(recovery, trial, fail_once)
    losses = Losses()
    samples = recovery.measure(tmp_path, SMALL, losses)
    assert losses.lines == []
    assert len(samples) == 5
    assert list(tmp_path.iterdir()) == []


class Read(Link):
    """A link that somebody reads, and in whose hands a frame is."""

    def __init__(self) -> None:
        self.come = trio.Event()
        self.closed = False

    async def receive_some(self) -> Sequence[bytes]:
        await self.come.wait()
        if self.closed:
            raise LinkClosed("the link was closed here")
        self.come = trio.Event()
        return [b"an acknowledgement"]

    async def receive(self) -> bytes:
        return (await self.receive_some())[0]

    async def send_some(self, frames: Sequence[bytes]) -> None:
        raise LinkBroken("nobody sends here")

    async def close(self, code: int | None, reason: str = "") -> None:
        self.closed = True

    def statistics(self) -> LinkStatistics:
        return LinkStatistics()


async def test_a_host_that_is_given_a_frame_as_a_trial_ends_does_not_fail_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last acknowledgement leaves the gateway when the end of the run does."""
    link = Read()

    class Reading:
        def __init__(self, link: Link, *, plain: bool) -> None:
            self.link = link

        async def run(self) -> None:
            while True:
                await self.link.receive_some()

    class At:
        async def dial(self) -> Link:
            return link

    @asynccontextmanager
    async def dialing(url: str, options: object) -> AsyncGenerator[At]:
        yield At()

    monkeypatch.setattr(recovery, "LoadHost", Reading)
    monkeypatch.setattr(recovery, "open_dialer", dialing)
    async with (
        open_child("child", "this", family=[]) as child,
        recovery.hosting(Subject(child, tmp_path, "ws://127.0.0.1:1")),
    ):
        await trio.testing.wait_all_tasks_blocked()
        link.come.set()
    assert link.closed


def test_a_journal_that_cannot_be_made_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subjects, "config_text", lambda *_: "[gateway]\nname = 5\n")
    losses = Losses()
    assert recovery.measure(tmp_path, RecoveryPlan(events=2, replayed=1), losses) == []
    assert losses.lines == ["a full journal: the gateway ended too early"]
    assert list(tmp_path.iterdir()) == []
