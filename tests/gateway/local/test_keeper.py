"""A pool at work on a real hub: from a run's start to its end, a drain, and the end of all."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core.answers import AccountList
from fleetgate.core.commands import CancelRun, EndSession, Prompt, ReadUsage, RunSpec
from fleetgate.core.errors import SessionNotFound, Unavailable
from fleetgate.core.events import Reason, RunFinished, RunStarted, RunState, TextProduced
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import LINK, POOL, describe, hub_on, read_until, started
from fleetgate.core.ids import SessionId, WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.worker import AccountReport, Liveness
from fleetgate.gateway.config import ConfigError
from fleetgate.gateway.local.cli_profile import CliProfile, CompletionMarker
from fleetgate.gateway.local.keeper import LocalKeeper
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.testing import SeenEntry

SCRIPT = """
[[when]]
match = "hang"
do = [{ text = "waiting" }, { hang = true }]
[usage]
daily_limit = "10 %"
"""
WORKER = WorkerId(f"{POOL}/here")


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


@asynccontextmanager
async def kept(hub: Hub, path: Path, seen: SeenEntry, **settings) -> AsyncIterator[LocalKeeper]:
    (path / "s.toml").write_text(SCRIPT)
    pool = LocalPool(POOL, ("mock",), script=str(path / "s.toml"), **settings)
    keeper = LocalKeeper(pool, path / "a" / "state", hub, seen)
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        yield keeper
        nursery.cancel_scope.cancel()


async def test_a_run_goes_from_its_start_to_its_end(hub: Hub, tmp_path: Path) -> None:
    seen = SeenEntry()
    async with kept(hub, tmp_path, seen):
        run = await started(hub, spec=RunSpec(Prompt("hello")))
        events = [each.event for each in await read_until(hub, run, 4)]
        assert events[2] == TextProduced("hello")
        assert isinstance(events[3], RunFinished)
        answer = await hub.submit(ReadUsage(LINK))
        assert answer == AccountList((AccountReport("mock", True, {"daily_limit": "10 %"}),))
    assert seen.said == [("up", "this machine"), ("down", "cancelled")]
    assert hub.worker(WORKER).liveness is Liveness.AWAY


async def test_directories_it_makes_are_the_users_alone(hub: Hub, tmp_path: Path) -> None:
    """With a journal in memory the admin socket lies in one of them, and refuses any other."""
    async with kept(hub, tmp_path, SeenEntry()):
        for made in (tmp_path / "a", tmp_path / "a" / "state"):
            assert made.stat().st_mode & 0o777 == 0o700


async def test_runs_beyond_the_limit_wait_in_line(hub: Hub, tmp_path: Path) -> None:
    async with kept(hub, tmp_path, SeenEntry(), max_running=1):
        first = await started(hub, "1", RunSpec(Prompt("hang")))
        second = await started(hub, "2", RunSpec(Prompt("hello")))
        await read_until(hub, first, 3)
        assert (await describe(hub, second)).state is RunState.QUEUED


async def test_a_drain_waits_for_the_runs_at_work_and_takes_no_more(
    hub: Hub, tmp_path: Path
) -> None:
    async with kept(hub, tmp_path, SeenEntry()) as keeper, trio.open_nursery() as nursery:
        run = await started(hub, "1", RunSpec(Prompt("hang")))
        await read_until(hub, run, 3)
        drained = trio.Event()

        async def drain() -> None:
            await keeper.drain()
            drained.set()

        nursery.start_soon(drain)
        late = await started(hub, "2", RunSpec(Prompt("hello")))
        await wait_all_tasks_blocked()
        assert not drained.is_set()
        await hub.submit(CancelRun(run))
        await drained.wait()
        assert (await describe(hub, late)).state is RunState.QUEUED


async def test_what_is_at_work_at_the_end_is_lost(hub: Hub, tmp_path: Path) -> None:
    async with kept(hub, tmp_path, SeenEntry()):
        run = await started(hub, spec=RunSpec(Prompt("hang")))
        await read_until(hub, run, 3)
    (*_, last) = await read_until(hub, run, 4)
    assert isinstance(last.event, RunFinished)
    assert last.event.outcome.state is RunState.LOST
    assert last.event.outcome.reason is Reason.LOST


async def test_a_session_that_a_controller_ends_has_no_process_and_is_not_known(
    hub: Hub, tmp_path: Path
) -> None:
    args = ("-c", "while read line; do echo END; done")
    agent = CliProfile("sh", args, persistent=True, completion_marker=CompletionMarker("END"))
    pool = LocalPool(POOL, ("cli",), cli={"agent": agent})
    seen = SeenEntry()
    async with trio.open_nursery() as nursery:
        await nursery.start(LocalKeeper(pool, tmp_path / "state", hub, seen).run)
        run = await started(hub, spec=RunSpec(Prompt("hi"), session=SessionId("s")))
        (work,) = [
            each.event
            for each in await read_until(hub, run, 4)
            if isinstance(each.event, RunStarted)
        ]
        assert work.pid is not None
        process = os.pidfd_open(work.pid)
        assert (await describe(hub, run)).state is RunState.SUCCEEDED
        await hub.submit(EndSession(SessionId("s")))
        await trio.lowlevel.wait_readable(process)
        os.close(process)
        with pytest.raises(SessionNotFound):
            await hub.submit(EndSession(SessionId("s")))
        nursery.cancel_scope.cancel()
    assert not any(link.faults for link in seen.links)


async def test_a_worker_that_the_hub_does_not_admit_stops_the_start(
    hub: Hub, tmp_path: Path, monkeypatch
) -> None:
    async def refuse(*_: object) -> None:
        raise Unavailable("the journal is failing")

    monkeypatch.setattr(hub, "admit", refuse)
    keeper = LocalKeeper(LocalPool(POOL, ("mock",)), tmp_path, hub, SeenEntry())
    with pytest.raises(Unavailable):
        await keeper.run()


async def test_a_script_that_is_none_stops_the_start(hub: Hub, tmp_path: Path) -> None:
    pool = LocalPool(POOL, ("mock",), script=str(tmp_path / "none.toml"))
    keeper = LocalKeeper(pool, tmp_path, hub, SeenEntry())
    with pytest.raises(ConfigError):
        await keeper.run()
