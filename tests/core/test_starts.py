"""Accepting runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.errors import (
    Conflict,
    NotAccepted,
    ResourceExhausted,
    SessionNotFound,
    Stopping,
    Unavailable,
)
from fleetgate.core.events import RunAssigned, RunState, StateChanged
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    LINK,
    HandWorker,
    describe,
    hub_on,
    read_until,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId, SessionId
from fleetgate.core.journal.api import Journal, JournalConflict
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.limits import Limits
from fleetgate.core.run import Run
from fleetgate.core.times import SECOND


async def test_a_run_that_is_just_being_accepted_counts_as_open(
    hub: Hub, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the request and its commit a daemon is not idle: it must not stop as if it were."""
    held: list[object] = []
    enqueue = journal.enqueue
    monkeypatch.setattr(journal, "enqueue", lambda *args, **kw: held.append((args, kw)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.submit, start_run())
        await wait_all_tasks_blocked()
        with pytest.raises(Conflict, match="1 open run"):
            await hub.submit(c.StopLink(LINK, c.StopMode.IF_IDLE))
        monkeypatch.undo()
        for args, kw in held:
            enqueue(*args, **kw)
    with pytest.raises(Conflict, match="1 open run"):
        await hub.submit(c.StopLink(LINK, c.StopMode.IF_IDLE))


async def test_a_start_behind_the_same_start_is_refused_once_its_entry_stops(
    hub: Hub, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[object] = []
    enqueue = journal.enqueue
    monkeypatch.setattr(journal, "enqueue", lambda *args, **kw: held.append((args, kw)))
    refused = trio.Event()

    async def again() -> None:
        with pytest.raises(Stopping):
            await hub.submit(start_run())
        refused.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.submit, start_run())
        await wait_all_tasks_blocked()
        nursery.start_soon(again)
        await hub.submit(c.StopLink(LINK, c.StopMode.DRAIN))
        monkeypatch.undo()
        for args, kw in held:
            enqueue(*args, **kw)
    assert refused.is_set()


async def test_a_command_about_a_run_that_is_just_being_accepted_waits_for_it(
    hub: Hub, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[object] = []
    enqueue = journal.enqueue
    monkeypatch.setattr(journal, "enqueue", lambda *args, **kw: held.append((args, kw)))
    run = start_run().run
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hub.submit, start_run())
        await wait_all_tasks_blocked()
        nursery.start_soon(hub.submit, c.CancelRun(run))
        await wait_all_tasks_blocked()
        assert len(held) == 1
        monkeypatch.undo()
        for args, kw in held:
            enqueue(*args, **kw)
    assert (await describe(hub, run)).state is RunState.CANCELED


RUN = start_run().run
WHOLE = (
    c.DescribeRun(RUN),
    c.ListRuns(LINK, unacknowledged=True),
    c.ListRuns(LINK, open_only=True),
    c.ListRuns(LINK, latest=1),
)
"""What is answered as if nothing more could come."""


def named_in(answer: object) -> list[RunId]:
    match answer:
        case Accepted(after=Run(id=id)):
            return [id]
        case RunList(runs=runs):
            return [run.id for run in runs]
    raise AssertionError(answer)


@pytest.mark.parametrize("question", WHOLE)
async def test_a_start_whose_link_is_gone_is_in_what_the_next_link_is_told(
    hub: Hub, journal: Journal, monkeypatch: pytest.MonkeyPatch, question: c.Command
) -> None:
    """Told that there is no such run, a controller takes it for never begun: it says so, and the
    run goes on for nobody."""
    held: list[object] = []
    enqueue = journal.enqueue
    monkeypatch.setattr(journal, "enqueue", lambda *args, **kw: held.append((args, kw)))
    told: list[RunId] = []

    async def ask() -> None:
        told.extend(named_in(await hub.submit(question)))

    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as link:
            link.start_soon(hub.submit, start_run())
            await wait_all_tasks_blocked()
            link.cancel_scope.cancel()
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        assert not told
        monkeypatch.undo()
        for args, kw in held:
            enqueue(*args, **kw)
    assert told == [RUN]


async def test_what_may_yet_be_accepted_is_not_said_to_be_unknown(
    autojump_clock: MockClock,
) -> None:
    """Nor is it waited for by lists that are of another entry, or of what is there just now."""
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
    ):
        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(10)
            return await store(groups)

        journal.store = slow  # type: ignore[method-assign]
        with pytest.raises(Unavailable, match="in time"):
            await hub.submit(start_run())
        for question in WHOLE:
            with pytest.raises(Unavailable, match="still being accepted"):
                await hub.submit(question)
        for now in (c.ListRuns(), c.ListRuns(LINK, limit=9), c.ListRuns("other", open_only=True)):
            assert named_in(await hub.submit(now)) == []
        journal.store = store  # type: ignore[method-assign]
        await trio.sleep(60)
        for question in WHOLE:
            assert named_in(await hub.submit(question)) == [RUN]


async def test_I6_a_run_that_was_accepted_is_known_while_the_gateway_stops(hub: Hub) -> None:
    await hub.submit(start_run())
    hub.drain()
    assert isinstance(await hub.submit(start_run()), Accepted)
    with pytest.raises(Stopping):
        await hub.submit(start_run("two"))


async def test_I6_a_start_that_is_late_in_the_journal_is_not_accepted_twice(
    autojump_clock: MockClock,
) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
    ):
        await HandWorker(hub, worker_info()).join()
        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(10)
            return await store(groups)

        journal.store = slow  # type: ignore[method-assign]
        start = attrs.evolve(start_run(), spec=attrs.evolve(start_run().spec, announce=True))
        for late in ("in time", "still being accepted", "still being accepted"):
            with pytest.raises(Unavailable, match=late) as refused:
                await hub.submit(start)
            assert refused.value.open
        journal.store = store  # type: ignore[method-assign]
        await trio.sleep(60)
        again = await hub.submit(start)
        assert isinstance(again, Accepted)
        assert again.run is not None
        events = await read_until(hub, start.run, 2)
        assert [type(each.event) for each in events[:2]] == [StateChanged, RunAssigned]


async def test_a_command_behind_a_stuck_one_is_answered(autojump_clock: MockClock) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
    ):
        await hub.submit(start_run())
        slot = hub._ledger.slots[start_run().run]
        await slot.turn.acquire()
        with pytest.raises(Unavailable, match="not durable yet"):
            await hub.submit(c.CancelRun(start_run().run))
        slot.turn.release()
        await hub.submit(c.CancelRun(start_run().run))


async def test_a_command_waits_no_longer_for_those_before_it_and_its_commit_together(
    autojump_clock: MockClock,
) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
        trio.open_nursery() as nursery,
    ):
        await hub.submit(start_run())
        slot = hub._ledger.slots[start_run().run]
        await slot.turn.acquire()

        async def come_late() -> None:
            await trio.sleep(0.75)
            slot.turn.release()

        async def stuck(groups: object) -> Mapping[int, JournalConflict]:
            await trio.sleep(10)
            return {}

        journal.store = stuck  # type: ignore[method-assign]
        nursery.start_soon(come_late)
        began = trio.current_time()
        with pytest.raises(Unavailable, match="did not commit in time"):
            await hub.submit(c.CancelRun(start_run().run))
        assert trio.current_time() - began == 1


# --- on conditions


def if_(run: str, spec: c.RunSpec | None = None, **conditions: bool) -> c.StartRunIf:
    return c.StartRunIf(start_run(run, spec), **conditions)


async def test_a_run_that_needs_a_worker_at_once_is_refused_without_one(hub: Hub) -> None:
    with pytest.raises(Unavailable):
        await hub.submit(if_("a", worker_here=True))
    worker = HandWorker(hub, worker_info())
    await worker.admit()
    await hub.submit(if_("a", worker_here=True))
    worker.ready(1)
    await wait_all_tasks_blocked()
    with pytest.raises(ResourceExhausted):
        await hub.submit(if_("b", worker_here=True))
    known = await hub.submit(if_("a", worker_here=True))
    assert isinstance(known, Accepted)
    assert known.run is not None


async def test_a_run_that_names_its_worker_goes_to_no_other(hub: Hub) -> None:
    one, two = (HandWorker(hub, worker_info(name, accepts=TAKES[name])) for name in ("one", "two"))
    await one.join()
    await two.join()
    named = c.RunSpec(c.Prompt("x"), labels={"gateway.node": "two", "adapter": "cli"})
    kind = c.RunSpec(c.Prompt("x"), labels={"adapter": "cli"})
    none = c.RunSpec(c.Prompt("x"), labels={"adapter": "vllm"})
    with pytest.raises(NotAccepted, match="two does not take what adapter"):
        await hub.submit(if_("a", named, worker_here=True))
    await hub.submit(if_("a", named))
    await hub.submit(if_("b", kind, worker_here=True))
    with pytest.raises(Unavailable):
        await hub.submit(if_("c", none, worker_here=True))
    await wait_all_tasks_blocked()
    assert [order.run for order in two.port.orders] == [start_run("a").run]
    assert [order.run for order in one.port.orders] == [start_run("b").run]


TAKES = {"one": {"adapter": frozenset({"cli"})}, "two": {"adapter": frozenset({"mock"})}}


async def test_a_session_that_must_exist_is_looked_up(hub: Hub, worker: HandWorker) -> None:
    spec = c.RunSpec(c.Prompt("x"), session=SessionId("s"))
    with pytest.raises(SessionNotFound):
        await hub.submit(if_("a", spec, session_exists=True))
    run = await started(hub, "b", spec)
    await wait_all_tasks_blocked()
    worker.record(run, e.SessionOpened("s"))
    await hub.submit(if_("a", spec, session_exists=True, worker_here=True))
    worker.leave()
    with pytest.raises(Unavailable):
        await hub.submit(if_("c", spec, session_exists=True, worker_here=True))
