"""Ending several runs at once, and being refused in the middle of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import canceling
from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted
from fleetgate.core.errors import SessionNotFound, Unavailable
from fleetgate.core.events import RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    LINK,
    HandWorker,
    RecordingPort,
    describe,
    hub_on,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId, SessionId
from fleetgate.core.journal.api import JournalConflict, JournalFailing, PutNote
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.rows import Row, RunRow
from fleetgate.core.ledger import Ledger
from fleetgate.core.limits import Limits

Fails = Callable[[Row], bool]


class Disk(MemoryJournal):
    """Refuses the commits that hold a row of a kind, while `refuses` says of which."""

    refuses: Fails | None = None

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        if self.refuses is not None and any(self.refuses(row) for rows in groups for row in rows):
            raise JournalFailing("disk full")
        return await super().store(groups)


@pytest.fixture
async def disk(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Disk]:
    monkeypatch.setattr("fleetgate.core.journal.memory.MemoryJournal", Disk)
    async with open_memory_journal() as journal:
        assert isinstance(journal, Disk)
        yield journal


@pytest.fixture
async def on_disk(disk: Disk) -> AsyncIterator[Hub]:
    async with hub_on(disk, Limits()) as hub:
        yield hub


async def in_session(hub: Hub, *names: str) -> tuple[HandWorker, list[RunId]]:
    """A worker with runs of the session `s`."""
    worker = HandWorker(hub, worker_info())
    await worker.join()
    runs = [await started(hub, name) for name in names]
    for run in runs:
        await read_until(hub, run, 1)
        worker.record(run, e.SessionOpened("s"))
        await read_until(hub, run, 2)
    return worker, runs


def canceled(worker: HandWorker) -> set[RunId]:
    return {o.run for o in worker.port.orders if isinstance(o.command, c.CancelRun)}


def row_of(run: RunId) -> Fails:
    return lambda row: isinstance(row, RunRow) and row.id == run


async def test_a_session_whose_end_is_refused_is_still_known_and_may_be_ended_again(
    on_disk: Hub, disk: Disk, autojump_clock: MockClock
) -> None:
    worker, (run,) = await in_session(on_disk, "one")
    disk.refuses = lambda row: isinstance(row, PutNote)
    with pytest.raises(Unavailable, match="disk full"):
        await on_disk.submit(c.EndSession(SessionId("s")))
    assert canceled(worker) == {run}
    disk.refuses = None
    await trio.sleep(10)
    assert list(await disk.notes("session")) == ["pool/s"]
    await on_disk.submit(c.EndSession(SessionId("s")))
    assert await disk.notes("session") == {}
    with pytest.raises(SessionNotFound):
        await on_disk.submit(c.EndSession(SessionId("s")))


async def test_a_session_whose_runs_cannot_be_canceled_is_not_ended(
    on_disk: Hub, disk: Disk, autojump_clock: MockClock
) -> None:
    worker, runs = await in_session(on_disk, "one", "two")
    disk.refuses = row_of(runs[1])
    with pytest.raises(Unavailable, match="of 2 runs are not canceled yet"):
        await on_disk.submit(c.EndSession(SessionId("s")))
    disk.refuses = None
    await trio.sleep(10)
    await on_disk.submit(c.EndSession(SessionId("s")))
    assert canceled(worker) == set(runs)


async def test_i10_a_run_opens_its_session_though_the_sessions_end_was_refused(
    on_disk: Hub, disk: Disk, autojump_clock: MockClock
) -> None:
    worker = HandWorker(on_disk, worker_info())
    await worker.join()
    run = await started(on_disk, "one", of_session())
    await read_until(on_disk, run, 1)
    disk.refuses = row_of(run)
    with pytest.raises(Unavailable):
        await on_disk.submit(c.EndSession(S))
    disk.refuses = None
    await trio.sleep(10)
    worker.record(run, e.SessionOpened("s"))
    await read_until(on_disk, run, 2)
    assert list(await disk.notes("session")) == [f"pool/{S}"]


async def test_a_session_that_another_run_opens_while_it_is_ended_is_not_forgotten(
    on_disk: Hub, disk: Disk, autojump_clock: MockClock
) -> None:
    worker, _ = await in_session(on_disk, "one")
    other = await started(on_disk, "two")
    await wait_all_tasks_blocked()
    store = disk.store

    async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        await trio.sleep(1)
        return await store(groups)

    disk.store = slow  # type: ignore[method-assign]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(on_disk.submit, c.EndSession(SessionId("s")))
        await trio.sleep(1.5)  # the cancel is durable, and the end is in line
        worker.record(other, e.SessionOpened("s"))
    await trio.sleep(5)
    assert list(await disk.notes("session")) == ["pool/s"]
    await on_disk.submit(c.EndSession(SessionId("s")))


async def test_a_session_of_which_half_was_canceled_may_be_canceled_again(
    on_disk: Hub, disk: Disk, autojump_clock: MockClock
) -> None:
    worker, runs = await in_session(on_disk, "one", "two", "three")
    cancel = c.CancelRun(runs[0], c.CancelScope.SESSION)
    disk.refuses = row_of(runs[2])
    with pytest.raises(Unavailable, match="of 2 runs are not canceled yet"):
        await on_disk.submit(cancel)
    assert runs[0] not in canceled(worker)
    worker.record(runs[0], DONE)  # the run that names the session ends meanwhile
    disk.refuses = None
    await trio.sleep(10)
    answer = await on_disk.submit(cancel)
    assert isinstance(answer, Accepted)
    assert answer.after is not None
    assert answer.after.canceling
    assert canceled(worker) >= {runs[1], runs[2]}
    for run in runs[1:]:
        assert (await describe(on_disk, run)).canceling


async def test_i6_a_session_is_canceled_once_under_a_key(hub: Hub) -> None:
    worker, (run,) = await in_session(hub, "one")
    cancel = c.CancelRun(run, c.CancelScope.SESSION)
    await hub.submit(cancel, key="k")
    later = await started(hub, "later", c.RunSpec(c.Prompt("x"), resume="s"))
    await wait_all_tasks_blocked()
    await hub.submit(cancel, key="k")
    worker.record(run, DONE)
    await wait_all_tasks_blocked()
    await hub.submit(cancel, key="k")
    assert canceled(worker) == {run}
    await hub.submit(cancel, key="another")
    assert canceled(worker) == {run, later}


async def test_an_entry_whose_runs_cannot_be_canceled_goes_on_and_may_be_stopped_again(
    on_disk: Hub, disk: Disk, autojump_clock: MockClock
) -> None:
    worker, runs = await in_session(on_disk, "one", "two")
    disk.refuses = row_of(runs[0])
    stop = c.StopLink(LINK, c.StopMode.TERMINATE)
    with pytest.raises(Unavailable, match="of 2 runs are not canceled yet"):
        await on_disk.submit(stop)
    disk.refuses = None
    await trio.sleep(10)
    await started(on_disk, "three")
    await on_disk.submit(stop)
    assert canceled(worker) >= set(runs)


async def test_a_run_that_is_just_being_accepted_is_canceled_with_its_entry(
    on_disk: Hub, disk: Disk, autojump_clock: MockClock
) -> None:
    store = disk.store

    async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        await trio.sleep(1)
        return await store(groups)

    disk.store = slow  # type: ignore[method-assign]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(started, on_disk, "one")
        await trio.sleep(0.5)
        await on_disk.submit(c.StopLink(LINK, c.StopMode.TERMINATE))
    assert (await describe(on_disk, RunId(f"{LINK}/one"))).state is RunState.CANCELED
    await on_disk.wait_stopped(LINK)


# --- what is of a session, and who is told

S = SessionId("s")


@attrs.define
class KeepingPort(RecordingPort):
    """A port of a worker that keeps sessions."""

    over: list[str] = attrs.field(factory=list[str])

    def end_session(self, session: str) -> None:
        self.over.append(session)


def of_session(session: SessionId = S) -> c.RunSpec:
    return c.RunSpec(c.Prompt("x"), session=session)


async def keeper(hub: Hub) -> HandWorker:
    worker = HandWorker(hub, worker_info())
    worker.port = KeepingPort()
    await worker.join()
    return worker


async def test_the_worker_is_told_by_its_own_name_although_nothing_runs(hub: Hub) -> None:
    worker = await keeper(hub)
    run = await started(hub, "a", of_session())
    await wait_all_tasks_blocked()
    worker.record(run, e.SessionOpened("native-7"), DONE)
    await read_until(hub, run, 3)
    await hub.submit(c.EndSession(S))
    assert worker.port.over == ["native-7"]
    with pytest.raises(SessionNotFound):
        await hub.submit(c.EndSession(S))


async def test_every_run_of_the_session_is_canceled_and_no_other(hub: Hub) -> None:
    worker = await keeper(hub)
    runs = [await started(hub, name, of_session()) for name in "ab"]
    other = await started(hub, "c", of_session(SessionId("t")))
    await wait_all_tasks_blocked()
    worker.record(runs[0], e.SessionOpened("s"))
    await hub.submit(c.EndSession(S))
    assert [(await describe(hub, run)).canceling for run in (*runs, other)] == [True, True, False]


async def test_runs_that_no_worker_has_begun_are_of_the_session_too(hub: Hub) -> None:
    run = await started(hub, "a", of_session())
    await hub.submit(c.EndSession(S))
    assert (await describe(hub, run)).state is e.RunState.CANCELED
    with pytest.raises(SessionNotFound):
        await hub.submit(c.EndSession(SessionId("unknown")))


@pytest.mark.parametrize("canceled_before", [False, True])
async def test_a_run_that_was_canceled_with_its_session_does_not_bring_it_back(
    hub: Hub, canceled_before: bool
) -> None:
    worker = await keeper(hub)
    run = await started(hub, "a", of_session())
    late = await started(hub, "b", of_session())
    await wait_all_tasks_blocked()
    worker.record(run, e.SessionOpened("s"))
    if canceled_before:
        await hub.submit(c.CancelRun(late))
    await hub.submit(c.EndSession(S))
    worker.record(late, e.SessionOpened("s"), DONE)
    await read_until(hub, late, 3)
    with pytest.raises(SessionNotFound):
        await hub.submit(c.EndSession(S))
    again = await started(hub, "c", of_session())
    await wait_all_tasks_blocked()
    worker.record(again, e.SessionOpened("s"), DONE)
    await read_until(hub, again, 3)
    await hub.submit(c.EndSession(S))


async def test_a_worker_that_keeps_none_or_is_away_is_not_told(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub, "a", of_session())
    await wait_all_tasks_blocked()
    worker.record(run, e.SessionOpened("s"), DONE)
    await read_until(hub, run, 3)
    worker.leave()
    await hub.submit(c.EndSession(S))
    with pytest.raises(SessionNotFound):
        await hub.submit(c.EndSession(S))


async def test_a_cancel_of_the_session_spares_other_sessions(hub: Hub) -> None:
    await keeper(hub)
    runs = [await started(hub, name, of_session()) for name in "ab"]
    other = await started(hub, "c", of_session(SessionId("t")))
    await wait_all_tasks_blocked()
    await hub.submit(c.CancelRun(runs[0], c.CancelScope.SESSION))
    assert [(await describe(hub, run)).canceling for run in (*runs, other)] == [True, True, False]


@pytest.mark.limit("core/canceling.AT_ONCE")
async def test_i9_so_many_runs_are_canceled_side_by_side(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canceling, "AT_ONCE", 3)
    runs = [await started(hub, f"r{number}", of_session()) for number in range(7)]
    most = under_way = 0
    commit = Ledger.commit

    async def counted(*args: Any, **kwargs: Any) -> None:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        await trio.lowlevel.checkpoint()
        await commit(*args, **kwargs)
        under_way -= 1

    monkeypatch.setattr(Ledger, "commit", counted)
    await hub.submit(c.EndSession(S))
    assert most == 3
    assert {(await describe(hub, run)).state for run in runs} == {RunState.CANCELED}
