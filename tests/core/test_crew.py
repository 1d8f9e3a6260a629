"""Workers: admission, fencing, giving out runs and orders, and grace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import WorkerList
from fleetgate.core.errors import (
    Fenced,
    InstanceConflict,
    ResourceExhausted,
    Unavailable,
    WorkerNotFound,
)
from fleetgate.core.events import RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    describe,
    hub_on,
    kinds,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import OrderNumber, RunId, WorkerId
from fleetgate.core.journal.api import Append, Done, Journal, JournalConflict, Write
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.limits import Limits
from fleetgate.core.times import SECOND
from fleetgate.core.worker import Liveness


async def test_I7_an_older_epoch_is_fenced(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    newer = HandWorker(hub, worker_info())
    admission = await newer.admit()
    assert newer.epoch == worker.epoch + 1
    assert worker.port.fences == [f"another link of worker {worker.info.id} took over"]
    assert [held.run.id for held in admission.held] == [run]
    for act in (
        lambda: worker.record(run, e.TextProduced("x"), seq=1),
        lambda: worker.ready(),
        lambda: worker.settle(run, OrderNumber(0)),
        lambda: hub.report_capacity(worker.info.id, worker.epoch, 5),
    ):
        with pytest.raises(Fenced):
            act()
    worker.leave()
    newer.ready()
    newer.record(run, DONE, seq=1)
    assert kinds(await read_until(hub, run, 2)) == ["RunAssigned", "RunFinished"]


async def test_I4_repeats_among_events_that_are_reported_together_are_left_out(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("1"), seq=1)
    heard = [((e.TextProduced(str(seq)),), seq, None) for seq in (1, 2, 2, 3, 1, 4)]
    whole = [*heard, ((DONE,), None, None)]
    assert not hub.record_all(worker.info.id, worker.epoch, [(run, whole)])
    events = await read_until(hub, run, 6)
    texts = [each.event.text for each in events if isinstance(each.event, e.TextProduced)]
    assert texts == ["1", "2", "3", "4"]
    await wait_all_tasks_blocked()
    assert worker.port.durable[-1] == (run, 4)
    other = RunId("other")
    assert hub.record_all(worker.info.id, worker.epoch, [(other, heard)]) == [other]


async def test_I7_another_live_instance_is_refused_where_it_matters(hub: Hub) -> None:
    one = HandWorker(hub, worker_info(instance="i1", exclusive=True))
    await one.join()
    two = HandWorker(hub, worker_info(instance="i2", exclusive=True))
    with pytest.raises(InstanceConflict):
        await two.admit()
    one.leave()
    await two.admit()


async def test_runs_wait_for_room(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info())
    await worker.join(free=1)
    one, two = await started(hub, "one"), await started(hub, "two")
    await wait_all_tasks_blocked()
    assert [order.run for order in worker.port.orders] == [one]
    hub.report_capacity(worker.info.id, worker.epoch, 1)
    await wait_all_tasks_blocked()
    assert [order.run for order in worker.port.orders] == [one, two]


async def test_capacity_reported_between_assignment_and_order_is_not_given_out_twice(
    hub: Hub, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = HandWorker(hub, worker_info())
    await worker.join(free=1)
    held: list[tuple[object, ...]] = []
    enqueue = journal.enqueue

    def hold_appends(writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        if any(isinstance(write, Append) for write in writes):
            held.append((writes, done))
        else:
            enqueue(writes, done, may_fail=may_fail)

    monkeypatch.setattr(journal, "enqueue", hold_appends)
    one, _ = await started(hub, "one"), await started(hub, "two")
    hub.report_capacity(worker.info.id, worker.epoch, 1)  # it has not heard of the run yet
    monkeypatch.undo()
    for writes, done in held:
        enqueue(writes, done)
    await wait_all_tasks_blocked()
    assert [order.run for order in worker.port.orders] == [one]


async def test_fault_26_orders_that_come_while_a_worker_compares_are_held_back(hub: Hub) -> None:
    info = worker_info(numbered_input=True)
    first = HandWorker(hub, info)
    await first.join()
    run = await started(hub)
    await hub.submit(c.SendInput(run, b"a"))
    first.leave()
    await hub.submit(c.SendInput(run, b"b"))
    back = HandWorker(hub, info)
    admission = await back.admit()
    assert [order.input for order in admission.held[0].orders] == [1, 2]
    await hub.submit(c.SendInput(run, b"c"))
    assert back.port.orders == []
    back.ready()
    assert [order.input for order in back.port.orders] == [3]


async def test_confirmed_inputs_are_not_held(hub: Hub) -> None:
    info = worker_info(numbered_input=True)
    first = HandWorker(hub, info)
    await first.join()
    run = await started(hub)
    for data in (b"a", b"b", b"c"):
        await hub.submit(c.SendInput(run, data))
    first.record(run, e.InputAccepted(2), seq=1)
    await read_until(hub, run, 2)
    first.leave()
    admission = await HandWorker(hub, info).admit()
    assert [order.input for order in admission.held[0].orders] == [3]


async def test_an_input_reaches_a_worker_without_numbers_at_most_once(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await hub.submit(c.SendInput(run, b"a"))
    await wait_all_tasks_blocked()
    worker.leave()
    await hub.submit(c.SendInput(run, b"b"))
    admission = await HandWorker(hub, worker_info()).admit()
    assert [order.input for order in admission.held[0].orders] == [2]
    events = await read_until(hub, run, 2)
    assert isinstance(events[-1].event, e.Diagnosed)
    assert events[-1].event.code == "input_uncertain"


async def test_a_drained_worker_takes_no_runs_until_it_may(hub: Hub, worker: HandWorker) -> None:
    await hub.submit(c.DrainWorker(worker.info.id))
    await started(hub)
    await wait_all_tasks_blocked()
    assert worker.port.orders == []
    listed = await hub.submit(c.ListWorkers())
    assert isinstance(listed, WorkerList)
    assert listed.workers[0].liveness.value == "draining"
    ids = (WorkerId("none"), worker.info.id, worker.info.id)
    assert await hub.submit(c.ListWorkers(ids)) == listed
    assert await hub.submit(c.ListWorkers(ids[:1])) == WorkerList(())
    await hub.submit(c.DrainWorker(worker.info.id, on=False))
    await wait_all_tasks_blocked()
    assert len(worker.port.orders) == 1
    with pytest.raises(WorkerNotFound):
        await hub.submit(c.DrainWorker(WorkerId("none")))


async def test_a_drained_worker_stays_drained_wherever_it_is(journal: Journal) -> None:
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.admit()
        await hub.submit(c.DrainWorker(worker.info.id))
        worker.ready()
        assert hub.worker(worker.info.id).status().liveness is Liveness.DRAINING
        worker.leave()
        await worker.join()
        await started(hub)
        await wait_all_tasks_blocked()
        assert worker.port.orders == []
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        await wait_all_tasks_blocked()
        assert worker.port.orders == []
        await hub.submit(c.DrainWorker(worker.info.id, on=False))
        await wait_all_tasks_blocked()
        assert len(worker.port.orders) == 1


async def test_a_drain_that_is_refused_changes_nothing(autojump_clock: MockClock) -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        for on in (True, False):
            journal.fail("disk full")
            with pytest.raises(Unavailable, match="disk full"):
                await hub.submit(c.DrainWorker(worker.info.id, on=on))
            assert hub.worker(worker.info.id).draining is not on
            journal.fail(None)
            await trio.sleep(10)
            await hub.submit(c.DrainWorker(worker.info.id, on=on))
            assert hub.worker(worker.info.id).draining is on


async def test_a_drain_that_waited_for_room_writes_the_epoch_of_the_newest_link(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_memory_journal() as journal:
        async with hub_on(journal) as hub:
            worker = HandWorker(hub, worker_info())
            await worker.join()
            room = trio.Event()
            wait_room = journal.wait_room
            monkeypatch.setattr(journal, "wait_room", room.wait)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(hub.submit, c.DrainWorker(worker.info.id))
                await wait_all_tasks_blocked()
                monkeypatch.setattr(journal, "wait_room", wait_room)
                newer = HandWorker(hub, worker_info())
                await newer.join()
                room.set()
            assert hub.worker(worker.info.id).draining
        async with hub_on(journal) as hub:
            back = HandWorker(hub, worker_info())
            await back.join()
            assert back.epoch == newer.epoch + 1
            assert hub.worker(worker.info.id).draining


async def test_an_input_of_an_admission_that_was_not_answered_is_not_in_doubt(
    autojump_clock: MockClock,
) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
    ):
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        await read_until(hub, run, 1)
        worker.leave()
        await hub.submit(c.SendInput(run, b"a"))
        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(5)
            return await store(groups)

        journal.store = slow  # type: ignore[method-assign]
        with pytest.raises(Unavailable, match="in time"):
            await worker.admit()
        await trio.sleep(20)
        journal.store = store  # type: ignore[method-assign]
        (known,) = await journal.open_runs()
        assert [open_.sent for open_ in known.orders] == [False]
        admission = await worker.admit()
        assert [order.input for order in admission.held[0].orders] == [1]
        (known,) = await journal.open_runs()
        assert [open_.sent for open_ in known.orders] == [True]
        assert (await describe(hub, run)).last_seq == 1


async def test_an_input_of_an_admission_that_was_taken_over_is_told_to_the_newer_link(
    autojump_clock: MockClock,
) -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        await read_until(hub, run, 1)
        worker.leave()
        await hub.submit(c.SendInput(run, b"a"))
        older, newer = HandWorker(hub, worker_info()), HandWorker(hub, worker_info())

        async def overtaken() -> None:
            with pytest.raises(Unavailable, match="took over"):
                await older.admit()

        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(1)
            return await store(groups)

        journal.store = slow  # type: ignore[method-assign]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(overtaken)
            await trio.sleep(0.5)
            nursery.start_soon(newer.admit)
        assert [order.input for order in newer.admission.held[0].orders] == [1]
        (known,) = await journal.open_runs()
        assert [open_.sent for open_ in known.orders] == [True]
        assert (await describe(hub, run)).last_seq == 1


async def test_I9_a_worker_that_comes_and_goes_leaves_nothing_behind(hub: Hub) -> None:
    worker = HandWorker(hub, worker_info())
    for _ in range(500):
        await worker.join()
        worker.leave()
    assert len(hub._timers) < 200


@pytest.mark.limit("Limits.workers")
async def test_I9_so_many_workers_are_known(journal: Journal) -> None:
    async with hub_on(journal, Limits(workers=2)) as hub:
        for name in ("a", "b", "a"):
            await HandWorker(hub, worker_info(name)).join()
        with pytest.raises(ResourceExhausted):
            await HandWorker(hub, worker_info("c")).join()


async def test_I5_runs_of_a_worker_that_leaves_for_good_are_lost(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.leave(gone=True)
    await read_until(hub, run, 2)
    assert (await describe(hub, run)).state is RunState.LOST


async def test_I5_runs_are_lost_when_the_grace_is_over(
    hub: Hub, autojump_clock: trio.testing.MockClock
) -> None:
    worker = HandWorker(hub, worker_info(grace=30 * SECOND))
    await worker.join()
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.leave()
    await trio.sleep(29)
    assert not (await describe(hub, run)).state.terminal
    await trio.sleep(2)
    assert (await describe(hub, run)).state is RunState.LOST


async def test_a_worker_that_returns_in_its_grace_keeps_its_runs(
    hub: Hub, autojump_clock: trio.testing.MockClock
) -> None:
    worker = HandWorker(hub, worker_info(grace=30 * SECOND))
    await worker.join()
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.leave()
    await trio.sleep(29)
    await worker.join()
    await trio.sleep(100)
    assert not (await describe(hub, run)).state.terminal


async def test_who_watches_is_told_of_workers_that_come_and_go(hub: Hub) -> None:
    told: list[tuple[str, str]] = []
    hub.watch_workers(lambda status: told.append((status.info.id, status.liveness.value)))
    worker = HandWorker(hub, worker_info())
    await worker.join()
    worker.leave()
    assert told == [(worker.info.id, "ready"), (worker.info.id, "away")]


async def test_sessions_of_a_worker_that_does_not_return_leave_the_journal(
    hub: Hub, journal: Journal, autojump_clock: MockClock
) -> None:
    worker = HandWorker(hub, worker_info(grace=30 * SECOND))
    await worker.join()
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.SessionOpened("s"), DONE, seq=1)
    await read_until(hub, run, 3)
    assert list(await journal.notes("session")) == ["pool/s"]
    worker.leave()
    await trio.sleep(31)
    assert await journal.notes("session") == {}
