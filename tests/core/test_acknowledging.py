"""What controllers have confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.acknowledging import Acknowledging
from fleetgate.core.errors import Unavailable
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    HandWorker,
    TrioClock,
    describe,
    hub_on,
    read_until,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.ids import Epoch, RunId, WorkerId
from fleetgate.core.journal.api import JournalConflict, PutRun
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.ledger import Ledger
from fleetgate.core.limits import Limits
from fleetgate.core.run import start
from fleetgate.core.slots import Slot

ASSIGNED = e.RunAssigned(WorkerId("pool/w"), Epoch(1))


async def at_work(hub: Hub) -> RunId:
    """A run with three events, all of them durable."""
    worker = HandWorker(hub, worker_info())
    await worker.join()
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("x"), e.TextProduced("y"))
    await read_until(hub, run, 3)
    await trio.sleep(1)
    return run


async def kept(journal: MemoryJournal, run: RunId) -> int:
    stored = await journal.get(run)
    assert stored is not None
    return stored.acknowledged


async def test_i2_an_acknowledgement_that_was_refused_is_not_answered_as_if_it_were_durable(
    autojump_clock: MockClock,
) -> None:
    async with open_memory_journal() as journal, hub_on(journal, Limits()) as hub:
        run = await at_work(hub)
        journal.fail("disk full")
        for _ in range(2):
            with pytest.raises(Unavailable):
                await hub.submit(c.AcknowledgeRun(run, 2))
            assert (await describe(hub, run)).acknowledged == 0
        journal.fail(None)
        await trio.sleep(10)
        await hub.submit(c.AcknowledgeRun(run, 2))
        assert await kept(journal, run) == 2


async def test_i2_a_second_acknowledgement_waits_for_the_first_which_is_still_in_line(
    autojump_clock: MockClock,
) -> None:
    async with open_memory_journal() as journal, hub_on(journal, Limits()) as hub:
        run = await at_work(hub)
        store = journal.store
        answered: list[int] = []

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(1)
            return await store(groups)

        async def acknowledge(through: int) -> None:
            await hub.submit(c.AcknowledgeRun(run, through))
            answered.append(await kept(journal, run))

        journal.store = slow  # type: ignore[method-assign]
        async with trio.open_nursery() as nursery:
            await hub.acknowledge(run, 3)
            for through in (3, 2):
                nursery.start_soon(acknowledge, through)
        assert answered == [3, 3]


async def test_of_many_acknowledgements_the_journal_gets_the_latest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_memory_journal() as journal:
        ledger = Ledger(journal, TrioClock(), Limits(), lambda slot: None)
        acknowledging = Acknowledging(ledger)
        slot = ledger.slots[start_run().run] = Slot(start(start_run(), now=1).run)
        await ledger.commit(lambda done: journal.enqueue((PutRun(slot.run),), done))
        ledger.record(slot, (ASSIGNED, *(e.TextProduced("x") for _ in range(50))))
        await wait_all_tasks_blocked()
        written: list[int] = []
        put = ledger.put
        monkeypatch.setattr(
            ledger, "put", lambda s, done: (written.append(s.run.acknowledged), put(s, done))
        )
        for through in range(1, 60):
            await acknowledging.acknowledge(slot.run.id, through)
        await wait_all_tasks_blocked()
        assert written == [1, 51]
        assert (await ledger.seen(slot.run.id)).acknowledged == 51
