"""A session that ended while its worker was away."""

from __future__ import annotations

import attrs
import pytest
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.endings import MOST, SPACE, Endings
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    HandWorker,
    RecordingPort,
    hub_on,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import Epoch, RunId, SessionId
from fleetgate.core.journal.api import Journal, Write
from fleetgate.core.ledger import Ledger
from fleetgate.core.roster import Roster, Worker

S = SessionId("s")


@attrs.define
class KeepingPort(RecordingPort):
    """A port that remembers in which order it was told what."""

    told: list[str] = attrs.field(factory=list[str])

    def perform(self, order: c.Order) -> None:
        self.told.append(type(order.command).__name__)

    def end_session(self, session: str) -> None:
        self.told.append(session)


async def keeper(hub: Hub) -> HandWorker:
    worker = HandWorker(hub, worker_info())
    worker.port = KeepingPort()
    await worker.join()
    return worker


async def in_session(hub: Hub, worker: HandWorker, name: str = "a") -> RunId:
    run = await started(hub, name, c.RunSpec(c.Prompt("x"), session=S))
    await wait_all_tasks_blocked()
    worker.record(run, e.SessionOpened("native-7"))
    await wait_all_tasks_blocked()
    return run


async def test_a_worker_that_was_away_is_told_when_it_is_back_and_once(
    hub: Hub, journal: Journal
) -> None:
    worker = await keeper(hub)
    await in_session(hub, worker)
    worker.leave()
    await hub.submit(c.EndSession(S))
    assert len(await journal.notes(SPACE)) == 1
    await hub.submit(c.StartRun(RunId("north/b"), c.RunSpec(c.Prompt("x")), c.Origin("north", "b")))
    back = await keeper(hub)
    await wait_all_tasks_blocked()
    assert back.port.told == ["native-7", "StartRun"]
    assert await journal.notes(SPACE) == {}
    assert (await keeper(hub)).port.told == []


async def test_also_where_the_gateway_was_restarted_meanwhile(hub: Hub, journal: Journal) -> None:
    worker = await keeper(hub)
    await in_session(hub, worker)
    worker.leave()
    await hub.submit(c.EndSession(S))
    async with hub_on(journal) as again:
        assert (await keeper(again)).port.told == ["native-7"]
        await wait_all_tasks_blocked()
    assert await journal.notes(SPACE) == {}


async def test_a_link_that_is_not_ready_is_told_once_it_is(hub: Hub) -> None:
    worker = await keeper(hub)
    run = await in_session(hub, worker)
    worker.record(run, e.RunFinished(e.Outcome(e.RunState.SUCCEEDED, e.Reason.EXITED)))
    await read_until(hub, run, 3)
    back = HandWorker(hub, worker_info())
    back.port = KeepingPort()
    await back.admit()
    await hub.submit(c.EndSession(S))
    assert back.port.told == []
    back.ready(1)
    assert back.port.told == ["native-7"]


async def test_whoever_may_be_just_beginning_the_session_is_told_too(hub: Hub) -> None:
    worker = await keeper(hub)
    await started(hub, "a", c.RunSpec(c.Prompt("x"), session=S))
    await wait_all_tasks_blocked()
    await hub.submit(c.EndSession(S))
    assert worker.port.told == ["StartRun", "CancelRun", "s"]


class Written(Ledger):
    """A ledger of which only what is written counts."""

    def __init__(self) -> None:
        self.writes: list[Write] = []

    def write(self, writes: list[Write]) -> None:  # type: ignore[override]
        self.writes += writes


@pytest.mark.limit("core/endings.MOST")
def test_I9_what_a_worker_is_owed_is_bounded() -> None:
    ledger, roster = Written(), Roster()
    info = worker_info()
    away = roster.workers[info.id] = Worker(info, Epoch(1), 0)
    endings = Endings(ledger, roster)
    for at in range(MOST + 1):
        endings.ended(info.id, f"s{at}")
    assert list(away.owed) == [f"s{at}" for at in range(1, MOST + 1)]
    assert [write.value for write in ledger.writes][-1] is None  # type: ignore[union-attr]
    for name in ("x" * 2000, "\ud800"):
        assert endings.planned(info.id, name) == []
        endings.ended(info.id, name)
    assert len(away.owed) == MOST
    endings.ended(worker_info("unknown").id, "s")
