"""Ending sessions."""

from __future__ import annotations

import attrs
import pytest
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import SessionNotFound
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    RecordingPort,
    describe,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import SessionId

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
