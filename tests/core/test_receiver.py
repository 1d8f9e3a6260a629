"""Hearing from workers."""

from __future__ import annotations

from typing import Any

from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
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
from fleetgate.core.ids import RunId, Seq
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
    beside = {"iop": {"message": "m"}}
    heard = (
        ((e.RunStarted(),), 1, e.Stamp(7, beside)),
        ((e.TextProduced("x"),), 2, e.Stamp(5)),
        ((e.TextProduced("y"),), 3, e.Stamp(9)),
    )
    assert not hub.record_all(worker.info.id, worker.epoch, [(run, heard)])
    told = (await read_until(hub, run, 4))[1:]
    assert [each.source for each in told] == [
        e.Source(worker.epoch, 1, 7, beside),
        e.Source(worker.epoch, 2, 7),
        e.Source(worker.epoch, 3, 9),
    ]
    assert told[0].time > 9


async def test_a_worker_s_clock_that_goes_back_does_not_over_a_restart_either(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    far = 1 << 62
    for seq, time in ((1, 5), (2, far)):
        event = e.RunStarted() if seq == 1 else e.TextProduced("x")
        said = [(run, (((event,), seq, e.Stamp(time)),))]
        assert not hub.record_all(worker.info.id, worker.epoch, said)
    await hub.submit(c.SendInput(run, b"a"))
    await read_until(hub, run, 3)
    async with hub_on(journal) as again:
        back = HandWorker(again, worker_info())
        await back.join()
        back.record(run, e.InputAccepted(1), seq=3)
        text = ((e.TextProduced("y"),), 4, e.Stamp(7))
        assert not again.record_all(back.info.id, back.epoch, [(run, (text,))])
        told = (await read_until(again, run, 5))[3:]
    assert [each.source and each.source.time for each in told] == [far] * 3


async def test_a_number_without_an_event_is_remembered(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    run = await started(hub)
    worker.record(run, e.RunStarted(), seq=1)
    assert not hub.record_all(worker.info.id, worker.epoch, [(run, (((), 2, None),))])
    await wait_all_tasks_blocked()
    (known,) = await journal.open_runs()
    assert known.run.native_seq == 2
    assert (run, 2) in worker.port.durable


async def test_I4_what_several_runs_say_together_is_one_entry_and_each_is_taken_once(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    one, two, ended = [await started(hub, name) for name in ("one", "two", "ended")]
    other = RunId("other")
    await wait_all_tasks_blocked()
    entries: list[int] = []
    enqueue = journal.enqueue

    def counted(writes: Any, done: Any, *, may_fail: bool = False) -> None:
        entries.append(len(writes))
        enqueue(writes, done, may_fail=may_fail)

    journal.enqueue = counted  # type: ignore[method-assign]
    said = [(e.TextProduced(str(seq)),) for seq in range(5)]
    foreign = hub.record_all(
        worker.info.id,
        worker.epoch,
        [
            (one, [(said[1], 1, None), (said[2], 2, None)]),
            (other, [(said[1], 1, None)]),
            (two, [(said[1], 1, None), (said[1], 1, None)]),
            (ended, [((DONE,), 1, None)]),
            (one, [(said[2], 2, None), (said[3], 3, None)]),
        ],
    )
    assert foreign == [other]
    assert entries == [4]
    await wait_all_tasks_blocked()
    for run, texts in ((one, ["1", "2", "3"]), (two, ["1"]), (ended, [])):
        stored = await journal.read(run, Seq(1), items=9, size=1 << 20)
        assert [r.event.text for r in stored if isinstance(r.event, e.TextProduced)] == texts
        assert [r.seq for r in stored] == list(range(2, 2 + len(stored)))
    assert {(one, 3), (two, 1), (ended, 1)} <= set(worker.port.durable)


async def test_I5_of_a_run_that_the_hub_has_ended_nothing_is_recorded_with_what_others_say(
    hub: Hub, worker: HandWorker, journal: Journal
) -> None:
    spec = c.RunSpec(c.Prompt("p"), timeout=1)
    left, other = await started(hub, "left", spec), await started(hub, "other")
    await wait_all_tasks_blocked()
    slot = hub._ledger.slots[left]
    hub._receiver._leftovers.ending(slot, "for a test")
    text = (e.TextProduced("x"),)
    reports = [(left, [(text, 1, None)]), (other, [(text, 1, None)])]
    assert not hub.record_all(worker.info.id, worker.epoch, reports)
    await wait_all_tasks_blocked()
    assert kinds(await journal.read(left, Seq(0), items=9, size=999)) == ["RunAssigned"]
    assert kinds(await journal.read(other, Seq(1), items=9, size=999)) == ["TextProduced"]
