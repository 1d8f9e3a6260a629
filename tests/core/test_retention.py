"""What is forgotten, when, and what never is; and what those hear who ask for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.commands import AcknowledgeRun, DescribeRun, ListRuns
from fleetgate.core.errors import ResourceExhausted, RunNotFound
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    describe,
    hub_on,
    start_run,
    worker_info,
)
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import ForgetRun
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.limits import Limits
from fleetgate.core.retention import AT_ONCE, EVERY
from fleetgate.core.times import SECOND


@asynccontextmanager
async def working(**limits: int) -> AsyncIterator[tuple[Hub, HandWorker, MemoryJournal]]:
    async with open_memory_journal() as journal, hub_on(journal, limits=Limits(**limits)) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        yield hub, worker, journal


async def run_of(
    hub: Hub, worker: HandWorker, name: str, *, size: int = 1, ended: bool = True
) -> RunId:
    run = start_run(name)
    await hub.submit(run)
    await wait_all_tasks_blocked()
    worker.record(run.run, e.TextProduced("x" * size))
    if ended:
        worker.record(run.run, DONE)
    await wait_all_tasks_blocked()
    return run.run


async def names(hub: Hub) -> list[str]:
    answer: Any = await hub.submit(ListRuns())
    return [run.id.partition("/")[2] or run.id for run in answer.runs]


async def test_by_age_and_only_what_was_acknowledged(autojump_clock: MockClock) -> None:
    async with working(keep_ended=100 * SECOND) as (hub, worker, _):
        told = await run_of(hub, worker, "told")
        untold = await run_of(hub, worker, "untold")
        open_ = await run_of(hub, worker, "open", ended=False)
        await hub.submit(AcknowledgeRun(told, 99))
        await trio.sleep(100 - 2 * EVERY)
        assert (await describe(hub, told)).state.terminal
        await trio.sleep(4 * EVERY)
        with pytest.raises(RunNotFound):
            await hub.submit(DescribeRun(told))
        await trio.sleep(1000)
        assert (await describe(hub, untold)).state.terminal
        assert not (await describe(hub, open_)).state.terminal


async def test_by_age_what_nobody_acknowledges(autojump_clock: MockClock) -> None:
    async with working(keep_unacknowledged=100 * SECOND) as (hub, worker, _):
        untold = await run_of(hub, worker, "untold")
        told = await run_of(hub, worker, "told")
        await hub.submit(AcknowledgeRun(told, 99))
        await trio.sleep(100 + 2 * EVERY)
        assert await hub.submit(DescribeRun(told))
        with pytest.raises(RunNotFound):
            await hub.submit(DescribeRun(untold))


async def test_everything_is_kept_by_default(autojump_clock: MockClock) -> None:
    async with working() as (hub, worker, _):
        run = await run_of(hub, worker, "r")
        await hub.submit(AcknowledgeRun(run, 99))
        await trio.sleep(10 * 365 * 24 * 3600)
        assert await hub.submit(DescribeRun(run))


async def test_by_size_those_that_ended_first(autojump_clock: MockClock) -> None:
    async with working(journal_size=100_000) as (hub, worker, journal):
        for number in range(20):
            run = await run_of(hub, worker, f"r{number:02}", size=9_000)
            await hub.submit(AcknowledgeRun(run, 99))
            await trio.sleep(EVERY + 1)
            assert await journal.used() < 120_000
        left = await names(hub)
        assert left
        assert left == [f"r{number:02}" for number in range(20)][-len(left) :]


async def test_at_its_size_with_nothing_to_forget_starts_are_refused(
    autojump_clock: MockClock,
) -> None:
    changes: list[bool] = []
    async with working(journal_size=50_000) as (hub, worker, _):
        hub.retention.changed = changes.append
        going = await run_of(hub, worker, "going", size=60_000, ended=False)
        await trio.sleep(3 * EVERY)
        assert hub.retention.full
        with pytest.raises(ResourceExhausted, match="journal_size"):
            await hub.submit(start_run("refused"))
        worker.record(going, e.TextProduced("y"), DONE)  # what is open goes on
        await wait_all_tasks_blocked()
        await hub.submit(AcknowledgeRun(going, 99))
        await trio.sleep(2 * EVERY)
        assert not hub.retention.full
        await hub.submit(start_run("taken"))
    assert changes == [True, False]


async def test_a_journal_that_fails_is_left_alone_and_looked_at_again(
    autojump_clock: MockClock,
) -> None:
    async with working(keep_ended=10 * SECOND) as (hub, worker, journal):
        run = await run_of(hub, worker, "r")
        await hub.submit(AcknowledgeRun(run, 99))
        journal.fail("the disk is full")
        await trio.sleep(100)
        assert await hub.submit(DescribeRun(run))
        journal.fail(None)
        await trio.sleep(2 * EVERY)
        with pytest.raises(RunNotFound):
            await hub.submit(DescribeRun(run))


async def test_i10_a_follower_of_what_is_forgotten_is_told(autojump_clock: MockClock) -> None:
    """It gets no part of the sequence as if that were all."""
    async with working(keep_ended=20 * SECOND) as (hub, worker, _):
        run = await run_of(hub, worker, "r")
        await hub.submit(AcknowledgeRun(run, 99))
        with hub.follow(run, Seq(0)) as behind, hub.follow(run, Seq(0)) as ahead:
            assert len(await ahead.take()) > 1
            assert await ahead.take() == []
            await trio.sleep(50)
            with pytest.raises(RunNotFound, match="forgotten"):
                await behind.take()
            assert await ahead.take() == []  # it has all that there was


async def test_a_follower_that_came_while_the_run_was_open_is_told_too(
    autojump_clock: MockClock,
) -> None:
    async with working(keep_ended=20 * SECOND) as (hub, worker, _):
        run = await run_of(hub, worker, "r", ended=False)
        with hub.follow(run, Seq(0)) as behind, hub.follow(run, Seq(9)):
            worker.record(run, DONE)
            await wait_all_tasks_blocked()
            await hub.submit(AcknowledgeRun(run, 99))
            await trio.sleep(50)
            with pytest.raises(RunNotFound, match="forgotten"):
                async for _ in behind:
                    pass


async def test_its_id_is_free_again(autojump_clock: MockClock) -> None:
    async with working(keep_ended=20 * SECOND) as (hub, worker, _):
        run = await run_of(hub, worker, "r")
        await hub.submit(AcknowledgeRun(run, 99))
        await trio.sleep(50)
        assert await run_of(hub, worker, "r") == run
        assert (await describe(hub, run)).last_seq > 1


async def test_on_a_real_journal(tmp_path: Path) -> None:
    limits = Limits(journal_size=1 << 20)
    async with (
        open_sqlite_journal(tmp_path / "journal.db") as journal,
        hub_on(journal, limits=limits) as hub,
    ):
        worker = HandWorker(hub, worker_info())
        await worker.join()
        for number in range(4):
            run = start_run(f"r{number}")
            await hub.submit(run)
            await until(lambda run=run.run: run in {o.run for o in worker.port.orders})
            worker.record(run.run, *[e.TextProduced("x" * 60_000)] * 8, DONE)
            await until_ended(hub, run.run)
            await hub.submit(AcknowledgeRun(run.run, 99))
        await hub.retention.look()
        assert await journal.used() <= 1 << 20
        left = await names(hub)
        assert 0 < len(left) < 4
        assert left[-1] == "r3"


async def until_ended(hub: Hub, run: RunId) -> None:
    with hub.follow(run, Seq(0)) as follower:
        async for batch in follower:
            if isinstance(batch[-1].event, e.RunFinished):
                return


async def until(holds: Callable[[], bool]) -> None:
    with trio.fail_after(30):
        while not holds():
            await trio.lowlevel.checkpoint()


@pytest.mark.limit("core/retention.AT_ONCE")
async def test_i9_so_many_runs_are_forgotten_in_one_commit(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, sizes = MemoryJournal.commit, list[int]()

    async def counted(journal: MemoryJournal, writes: Any) -> None:
        sizes.append(sum(isinstance(write, ForgetRun) for write in writes))
        await commit(journal, writes)

    monkeypatch.setattr(MemoryJournal, "commit", counted)
    async with working(keep_unacknowledged=100 * SECOND) as (hub, worker, _):
        for number in range(AT_ONCE + 6):
            await run_of(hub, worker, f"r{number}")
        sizes.clear()
        await trio.sleep(100 + 2 * EVERY)
        assert await names(hub) == []
    assert [size for size in sizes if size] == [AT_ONCE, 6]
