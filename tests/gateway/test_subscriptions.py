"""What one link has the hub tell it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.events import Recorded, RunFinished, RunState, TextProduced
from fleetgate.core.hub_testing import HandWorker, served, started
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import JournalDamaged
from fleetgate.core.journal.memory import MemoryJournal
from fleetgate.core.watchers import WorkerNotice
from fleetgate.gateway import followers
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.rights import ALL
from fleetgate.gateway.subscriptions import ALL_OF_IT, Subscriptions, owed
from fleetgate.protocols import api
from fleetgate.protocols.api import Connection, Steps


class Told(Connection):
    """What a link was told, and with what it was closed."""

    def __init__(self) -> None:
        self.notices: list[WorkerNotice] = []
        self.delivered: list[Recorded] = []
        self.closes: list[api.Close] = []
        self.steps: list[api.Step] = []

    def noticed(self, notice: WorkerNotice, now: int) -> Steps:
        self.notices.append(notice)
        return ()

    def take(self, batch: Sequence[Recorded]) -> int:
        self.delivered += batch
        return len(batch)

    def deliver(self, batch: Sequence[Recorded], now: int) -> Steps:
        self.delivered += batch
        return ()

    def call(self, call: Callable[[int], Steps]) -> None:
        self.steps += call(0)


@asynccontextmanager
async def subscribed() -> AsyncGenerator[tuple[Told, HandWorker, Subscriptions, trio.Nursery]]:
    told = Told()
    async with served() as (_, hub, worker, nursery):
        link = ("north", "peer")
        call, close = told.call, told.closes.append
        made = Subscriptions(hub, Outbox(), told, link, ALL, told.take, call, close)
        yield told, worker, made, nursery
        nursery.cancel_scope.cancel()


async def test_what_is_followed_is_delivered_until_it_is_not_followed_any_more() -> None:
    async with subscribed() as (told, worker, subscriptions, nursery):
        run = await started(worker.hub)
        await wait_all_tasks_blocked()
        subscriptions.perform(nursery, api.Follow(run, Seq(0)))
        await subscriptions.caught_up()
        assert [each.seq for each in told.delivered] == [1]
        (sent,) = worker.hub.ladders.passages.sent(run)
        assert (sent.entry, sent.peer) == ("north", "peer")
        subscriptions.perform(nursery, api.Unfollow(run))
        await wait_all_tasks_blocked()
        assert not nursery.child_tasks
    assert told.closes == []


async def test_workers_are_watched_once_and_until_it_stops() -> None:
    async with subscribed() as (told, worker, subscriptions, nursery):
        for _ in range(2):
            subscriptions.perform(nursery, api.WatchWorkers())
        assert len(told.notices) == 1
        subscriptions.stop()
        worker.leave()
        assert len(told.notices) == 1


async def test_one_run_too_many_and_one_that_cannot_be_read_end_the_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(followers, "MAX_FOLLOWED", 1)
    async with subscribed() as (told, _, subscriptions, nursery):
        subscriptions.perform(nursery, api.Follow(RunId("nobody's"), Seq(0)))
        subscriptions.perform(nursery, api.Follow(RunId("one more"), Seq(0)))
        await wait_all_tasks_blocked()
    assert [close.code for close in told.closes] == [1008, 1011]


async def test_a_damaged_run_has_an_end_in_the_place_of_what_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with subscribed() as (told, worker, subscriptions, nursery):
        run = await started(worker.hub)
        worker.record(run, TextProduced("a"), TextProduced("b"))
        await worker.hub.submit(c.CancelRun(run))
        await wait_all_tasks_blocked()
        other = await started(worker.hub, "other")

        async def read(*_: object, **__: object) -> Sequence[Recorded]:
            raise JournalDamaged("a bad page")

        ack = api.Ack(run, 2)
        assert owed(ack, None) is ack
        subscriptions.perform(nursery, api.Follow(other, Seq(0)))
        await wait_all_tasks_blocked()
        told.delivered.clear()
        monkeypatch.setattr(MemoryJournal, "read", read)
        subscriptions.perform(nursery, api.Follow(run, Seq(1)))
        await wait_all_tasks_blocked()
        (end,) = told.delivered
        assert isinstance(end.event, RunFinished)
        assert (end.run, end.seq, end.event.outcome.state) == (run, 2, RunState.LOST)
        assert "a bad page" in end.event.outcome.message
        assert told.steps == [api.Report("run_damaged", end.event.outcome.message, run)]
        assert owed(ack, subscriptions) == api.Ack(run, ALL_OF_IT)
        assert owed(api.Ack(run, 1), subscriptions) == api.Ack(run, 1)
        assert owed(api.Ack(other, 2), subscriptions) == api.Ack(other, 2)
    assert told.closes == []
