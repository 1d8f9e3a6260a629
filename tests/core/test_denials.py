"""Approvals that nobody could answer."""

from __future__ import annotations

import pytest
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import ApprovalNotFound
from fleetgate.core.events import Decision, Recorded, RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    MUTE,
    HandWorker,
    OneWay,
    describe,
    hub_on,
    read_until,
    start_run,
    worker_info,
)
from fleetgate.core.ids import RunId
from fleetgate.core.journal.api import Journal

STAYS = worker_info(grace=None)


async def mute_run(hub: Hub) -> RunId:
    command = start_run(link=MUTE)
    await hub.submit(command)
    await read_until(hub, command.run, 1)
    return command.run


def denials(worker: HandWorker) -> list[c.ResolveApproval]:
    commands = [order.command for order in worker.port.orders]
    return [each for each in commands if isinstance(each, c.ResolveApproval)]


async def test_what_is_asked_is_shown_and_denied_once(hub: Hub, worker: HandWorker) -> None:
    run = await mute_run(hub)
    worker.record(run, e.RunStarted(), e.ApprovalRequested("a", "May I?"))
    worker.record(run, e.ApprovalRequested("b", "And this?"), e.TextProduced("waiting"))
    shown: list[Recorded] = [*await read_until(hub, run, 7)]
    assert [type(each.event) for each in shown[2:]].count(e.ApprovalRequested) == 2
    resolved = [each.event for each in shown if isinstance(each.event, e.ApprovalResolved)]
    assert resolved == [e.ApprovalResolved(name, Decision.DENY) for name in "ab"]
    await wait_all_tasks_blocked()
    assert denials(worker) == [c.ResolveApproval(run, name, Decision.DENY) for name in "ab"]
    assert (await describe(hub, run)).approvals == ()
    with pytest.raises(ApprovalNotFound):
        await hub.submit(c.ResolveApproval(run, "a", Decision.ALLOW_ONCE))


async def test_what_others_are_asked_waits_for_them(hub: Hub, worker: HandWorker) -> None:
    command = start_run()
    await hub.submit(command)
    worker.record(command.run, e.RunStarted(), e.ApprovalRequested("a", "May I?"))
    await read_until(hub, command.run, 3)
    await wait_all_tasks_blocked()
    assert denials(worker) == []
    assert (await describe(hub, command.run)).state is RunState.WAITING


class Patient(OneWay):
    def denies(self, link: str, pool: str) -> bool:
        return False


async def test_I9_what_was_asked_before_a_restart_is_denied_behind_it(journal: Journal) -> None:
    async with hub_on(journal) as hub:
        hub.router = Patient()
        worker = HandWorker(hub, STAYS)
        await worker.join()
        run = await mute_run(hub)
        worker.record(run, e.RunStarted(), e.ApprovalRequested("a", "May I?"), seq=1)
        await read_until(hub, run, 3)
    async with hub_on(journal) as hub:
        (*_, last) = await read_until(hub, run, 4)
        assert last.event == e.ApprovalResolved("a", Decision.DENY)
        (held,) = (await HandWorker(hub, STAYS).admit()).held
        assert [each.command for each in held.orders] == [
            c.ResolveApproval(run, "a", Decision.DENY)
        ]
