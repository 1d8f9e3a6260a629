"""Accepting runs."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.answers import Accepted
from fleetgate.core.errors import Conflict, Stopping
from fleetgate.core.events import RunState
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import LINK, describe, start_run
from fleetgate.core.journal.api import Journal


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


async def test_I6_a_run_that_was_accepted_is_known_while_the_gateway_stops(hub: Hub) -> None:
    await hub.submit(start_run())
    hub.drain()
    assert isinstance(await hub.submit(start_run()), Accepted)
    with pytest.raises(Stopping):
        await hub.submit(start_run("two"))
