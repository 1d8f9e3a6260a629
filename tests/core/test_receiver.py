"""Hearing from workers."""

from __future__ import annotations

from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import HandWorker, describe, kinds, read_until, started
from fleetgate.core.journal.api import Journal


async def test_I11_a_session_name_that_no_note_holds_ends_nothing(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.SessionOpened("s" * 70_000), seq=1)
    worker.record(run, e.TextProduced("next"), seq=2)
    events = await read_until(hub, run, 3)
    assert kinds(events)[1:] == ["SessionOpened", "TextProduced"]
    assert await journal.notes("session") == {}


async def test_a_session_is_remembered_in_the_commit_that_opens_it(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.SessionOpened("s", "model"), seq=1)
    await read_until(hub, run, 2)
    assert list(await journal.notes("session")) == ["pool/s"]
    seen = await describe(hub, run)
    assert (seen.native_session, seen.model) == ("s", "model")


async def test_an_input_is_confirmed_by_the_event_that_says_so(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    run = await started(hub)
    for data in (b"a", b"b"):
        await hub.submit(c.SendInput(run, data))
    await wait_all_tasks_blocked()
    worker.record(run, e.InputAccepted(1), seq=1)
    await wait_all_tasks_blocked()
    (known,) = await journal.open_runs()
    assert [open_.order.input for open_ in known.orders] == [2]


async def test_the_worker_s_time_stands_beside_the_time_of_recording(
    hub: Hub, worker: HandWorker
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    heard = (((e.RunStarted(),), 1, 7), ((e.TextProduced("x"),), 2, None))
    assert hub.record_heard(worker.info.id, worker.epoch, run, heard)
    (first, second) = (await read_until(hub, run, 3))[1:]
    assert (first.source, second.source) == (
        e.Source(worker.epoch, 1, 7),
        e.Source(worker.epoch, 2, None),
    )
    assert first.time > 7
