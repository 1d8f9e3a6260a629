"""The hub: what it promises, each promise by its number."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.errors import (
    Conflict,
    InvalidArgument,
    NoRoute,
    RunEnded,
    RunNotFound,
    SessionNotFound,
    Stopping,
    Unavailable,
)
from fleetgate.core.events import RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    CANCELED,
    DONE,
    HandWorker,
    describe,
    hub_on,
    kinds,
    read_until,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId, Seq, SessionId
from fleetgate.core.journal.api import Journal

# --- a run's way


async def test_a_run_goes_to_a_worker_and_to_its_end(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    assert worker.port.numbers(run) == [0]
    first = worker.port.orders[0].command
    assert isinstance(first, c.StartRun)
    worker.record(run, e.RunStarted(), seq=1)
    worker.record(run, e.TextProduced("hi"), DONE, seq=2)
    events = await read_until(hub, run, 4)
    assert kinds(events) == ["RunAssigned", "RunStarted", "TextProduced", "RunFinished"]
    assert [each.seq for each in events] == [1, 2, 3, 4]
    ended = await describe(hub, run)
    assert (ended.state, ended.last_seq, ended.native_seq) == (RunState.SUCCEEDED, 4, 2)
    assert min(ended.started, ended.ended) >= ended.created
    assert ended.accepted


async def test_I2_no_order_before_its_assignment_is_durable(journal: Journal, hub: Hub) -> None:
    worker = HandWorker(hub, worker_info())
    await worker.join()
    run = await started(hub)
    await read_until(hub, run, 1)
    assert worker.port.orders
    stored = await journal.read(run, Seq(0), items=10, size=1000)
    assert kinds(stored) == ["RunAssigned"]


async def test_I3_a_worker_is_told_what_is_durable(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    for seq in range(1, 6):
        worker.record(run, e.TextProduced("x"), seq=seq)
    assert not any(seq for _, seq in worker.port.durable)
    await read_until(hub, run, 6)
    await wait_all_tasks_blocked()
    assert worker.port.durable[-1] == (run, 5)


async def test_I4_a_repeated_event_is_recorded_once_and_confirmed_again(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("x"), seq=1)
    await read_until(hub, run, 2)
    await wait_all_tasks_blocked()
    worker.port.durable.clear()
    assert worker.record(run, e.TextProduced("x"), seq=1)
    await wait_all_tasks_blocked()
    assert worker.port.durable == [(run, 1)]
    assert (await describe(hub, run)).last_seq == 2


async def test_I5_nothing_follows_the_end(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, DONE, e.TextProduced("late"))
    worker.record(run, CANCELED)
    events = await read_until(hub, run, 2)
    assert kinds(events)[1:] == ["RunFinished"]
    assert (await describe(hub, run)).state is RunState.SUCCEEDED


async def test_an_event_that_does_not_follow_becomes_a_diagnosis(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.RunStarted(), e.StateChanged(RunState.STARTING, "again"), seq=1)
    events = await read_until(hub, run, 3)
    assert kinds(events)[1:] == ["RunStarted", "Diagnosed"]


async def test_events_of_somebody_elses_run_are_not_taken(hub: Hub, worker: HandWorker) -> None:
    assert not worker.record(RunId("no/such"), e.TextProduced("x"), seq=1)


# --- I6, the same command once


async def test_I6_the_same_start_is_the_same_run(hub: Hub) -> None:
    first = await hub.submit(start_run())
    again = await hub.submit(start_run())
    assert isinstance(first, Accepted)
    assert isinstance(again, Accepted)
    assert first.run is None
    assert again.run == first.after
    with pytest.raises(Conflict):
        await hub.submit(start_run(spec=c.RunSpec(c.Prompt("other"))))


async def test_I6_two_starts_at_once_make_one_run(hub: Hub, worker: HandWorker) -> None:
    answers: list[Accepted] = []

    async def go() -> None:
        answer = await hub.submit(start_run())
        assert isinstance(answer, Accepted)
        answers.append(answer)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(go)
        nursery.start_soon(go)
    assert sorted(answer.run is None for answer in answers) == [False, True]
    await wait_all_tasks_blocked()
    assert len(worker.port.orders) == 1


async def test_I6_a_key_is_performed_once(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    for _ in range(3):
        await hub.submit(c.SendInput(run, b"x"), key="k")
    await hub.submit(c.SendInput(run, b"y"), key="l")
    await wait_all_tasks_blocked()
    assert worker.port.numbers(run) == [0, 1, 2]


# --- cancel


async def test_a_run_in_the_queue_is_canceled_on_the_spot(hub: Hub) -> None:
    run = await started(hub)
    await hub.submit(c.CancelRun(run))
    assert (await describe(hub, run)).state is RunState.CANCELED
    with pytest.raises(RunEnded):
        await hub.submit(c.CloseInput(run))
    again = await hub.submit(c.CancelRun(run))
    assert isinstance(again, Accepted)
    assert again.run is not None
    assert again.run.canceling


async def test_a_canceled_run_does_not_reach_a_worker_that_comes_later(hub: Hub) -> None:
    run = await started(hub)
    await hub.submit(c.CancelRun(run))
    worker = HandWorker(hub, worker_info())
    await worker.join()
    await wait_all_tasks_blocked()
    assert worker.port.orders == []


async def test_cancelling_a_session_cancels_its_other_runs(hub: Hub, worker: HandWorker) -> None:
    one, two, other = [await started(hub, name) for name in ("one", "two", "other")]
    await wait_all_tasks_blocked()
    worker.record(one, e.SessionOpened("s"))
    worker.record(two, e.SessionOpened("s"))
    await read_until(hub, two, 2)
    await hub.submit(c.CancelRun(one, c.CancelScope.SESSION))
    canceled = {o.run for o in worker.port.orders if isinstance(o.command, c.CancelRun)}
    assert canceled == {one, two}
    assert other not in canceled


async def test_a_session_stays_at_its_worker(hub: Hub, worker: HandWorker) -> None:
    other = HandWorker(hub, worker_info("other"))
    await other.join()
    run = await started(hub)
    await wait_all_tasks_blocked()
    home = worker if worker.port.orders else other
    home.record(run, e.SessionOpened("s"), DONE)
    await read_until(hub, run, 3)
    for name in ("a", "b", "c"):
        resumed = await started(hub, name, c.RunSpec(c.Prompt("go on"), resume="s"))
        await read_until(hub, resumed, 1)
        assert home.port.numbers(resumed) == [0]
    await hub.submit(c.EndSession(SessionId("s")))
    with pytest.raises(SessionNotFound):
        await hub.submit(c.EndSession(SessionId("s")))


# --- stopping


async def test_a_draining_hub_takes_no_runs(hub: Hub) -> None:
    run = await started(hub)
    hub.drain()
    assert hub.draining
    with pytest.raises(Stopping):
        await started(hub, "two")
    await hub.submit(c.CancelRun(run))


async def test_a_stopped_entry_closes_after_its_last_run(hub: Hub) -> None:
    run = await started(hub)
    with pytest.raises(Conflict, match="1 open run"):
        await hub.submit(c.StopLink("north", c.StopMode.IF_IDLE))
    await hub.submit(c.StopLink("north", c.StopMode.DRAIN))
    with pytest.raises(Conflict, match="1 open run"):
        await hub.submit(c.StopLink("north", c.StopMode.IF_IDLE))
    with pytest.raises(Stopping, match="already"):
        await hub.submit(c.StopLink("north", c.StopMode.TERMINATE))
    with pytest.raises(Stopping):
        await started(hub, "two")
    stopped = trio.Event()

    async def wait() -> None:
        await hub.wait_stopped("north")
        stopped.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert not stopped.is_set()
        await hub.submit(c.CancelRun(run))
        await stopped.wait()


async def test_terminating_an_entry_cancels_its_runs(hub: Hub) -> None:
    run = await started(hub)
    await hub.submit(c.StopLink("north", c.StopMode.TERMINATE))
    assert (await describe(hub, run)).state is RunState.CANCELED
    await hub.wait_stopped("north")


# --- looking, acknowledging, annotating


async def test_runs_are_listed_by_entry(hub: Hub) -> None:
    await started(hub, "b")
    await started(hub, "a")
    await hub.submit(start_run("c", link="other"))
    listed = await hub.submit(c.ListRuns("north"))
    assert isinstance(listed, RunList)
    assert [run.id for run in listed.runs] == ["north/a", "north/b"]
    with pytest.raises(RunNotFound):
        await hub.submit(c.DescribeRun(RunId("none")))
    with pytest.raises(NoRoute):
        await hub.submit(start_run(link="nowhere"))


async def test_runs_are_listed_in_pages_and_by_what_ended_last(
    hub: Hub, worker: HandWorker
) -> None:
    for name in "dcba":
        run = await started(hub, name)
        if name != "a":
            worker.record(run, DONE)
            await wait_all_tasks_blocked()

    async def found(**page: Any) -> tuple[str, bool]:
        listed = await hub.submit(c.ListRuns("north", **page))
        assert isinstance(listed, RunList)
        return "".join(run.id[-1] for run in listed.runs), listed.more

    assert await found(limit=3) == ("abc", True)
    assert await found(limit=3, after="north/c") == ("d", False)
    assert await found(latest=2) == ("abc", False)  # what is open, and of the others two
    assert await found(latest=9) == ("abcd", False)
    for wrong in ({"limit": 0}, {"after": "\ud800"}):
        with pytest.raises(InvalidArgument):
            await found(**wrong)


async def test_acknowledgements_are_clamped_and_never_fall(hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("x"), e.TextProduced("y"))
    await read_until(hub, run, 3)
    await hub.acknowledge(run, 2)
    await hub.acknowledge(run, 1)
    await wait_all_tasks_blocked()
    assert (await describe(hub, run)).acknowledged == 2
    worker.record(run, DONE)
    await read_until(hub, run, 4)
    await wait_all_tasks_blocked()
    await hub.acknowledge(run, 1 << 64)
    await wait_all_tasks_blocked()
    assert (await describe(hub, run)).acknowledged == 4
    with pytest.raises(RunNotFound):
        await hub.acknowledge(RunId("none"), 1)


async def test_a_durable_acknowledgement_is_in_the_journal_when_it_is_answered(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("x"))
    await read_until(hub, run, 2)
    await wait_all_tasks_blocked()
    answer = await hub.submit(c.AcknowledgeRun(run, 1))
    assert isinstance(answer, Accepted)
    assert answer.after is not None
    stored = await journal.get(run)
    assert stored is not None
    assert (answer.after.acknowledged, stored.acknowledged) == (1, 1)
    worker.record(run, DONE)
    await read_until(hub, run, 3)
    await wait_all_tasks_blocked()
    await hub.submit(c.AcknowledgeRun(run, 1 << 64))
    assert (await describe(hub, run)).acknowledged == 3
    with pytest.raises(RunNotFound):
        await hub.submit(c.AcknowledgeRun(RunId("none"), 1))


# --- restarts


async def test_I1_a_restart_goes_on_where_the_journal_stands(journal: Journal) -> None:
    info = worker_info(numbered_input=True)
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, info)
        await worker.join()
        run = await started(hub)
        await hub.submit(c.SendInput(run, b"a"), key="k")
        worker.record(run, e.TextProduced("one"), seq=1)
        await read_until(hub, run, 2)
        first_epoch = worker.epoch
    async with hub_on(journal) as hub:
        await hub.submit(c.SendInput(run, b"a"), key="k")
        back = HandWorker(hub, info)
        admission = await back.admit()
        assert back.epoch == first_epoch + 1
        held = admission.held[0]
        assert (held.run.id, held.run.native_seq, held.run.accepted) == (run, 1, True)
        assert [order.input for order in held.orders] == [1]
        back.ready()
        back.record(run, e.TextProduced("one"), seq=1)
        back.record(run, e.TextProduced("two"), seq=2)
        texts = [each.event for each in await read_until(hub, run, 3)][1:]
        assert texts == [e.TextProduced("one"), e.TextProduced("two")]


async def test_a_run_in_the_queue_is_given_out_after_a_restart(journal: Journal) -> None:
    async with hub_on(journal) as hub:
        run = await started(hub)
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        await read_until(hub, run, 1)
        assert worker.port.numbers(run) == [0]


async def test_I5_runs_of_a_worker_without_resume_are_lost_by_a_restart(journal: Journal) -> None:
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info(grace=0))
        await worker.join()
        run = await started(hub)
        await read_until(hub, run, 1)
    async with hub_on(journal) as hub:
        await read_until(hub, run, 2)
        assert (await describe(hub, run)).state is RunState.LOST


async def test_a_script_still_missing_after_a_restart_can_be_supplied(journal: Journal) -> None:

    script = c.Script(1, hashlib.sha256(b"x").digest())
    async with hub_on(journal) as hub:
        run = await started(hub, spec=c.RunSpec(c.ShellCommand(script=script)))
        await read_until(hub, run, 1)
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        await wait_all_tasks_blocked()
        assert worker.port.orders == []
        await hub.submit(c.SupplyScript(run, b"x"))
        await read_until(hub, run, 2)


# --- a journal that fails


async def test_new_work_is_refused_while_the_journal_fails(
    hub: Hub, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fleetgate.core.journal.api import Pressure

    run = await started(hub)
    monkeypatch.setattr(journal, "pressure", lambda: Pressure(0, 0, "disk full"))
    for command in (start_run("two"), c.CancelRun(run)):
        with pytest.raises(Unavailable, match="disk full"):
            await hub.submit(command)
    with pytest.raises(Unavailable):
        await HandWorker(hub, worker_info()).admit()
    monkeypatch.undo()
    await HandWorker(hub, worker_info()).join()
    await read_until(hub, run, 1)
