"""A run whose record is damaged, and a link that is to tell it: the run has an end, once, and the
link goes on with all others. Where it ended instead, its dialler would come again for that run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core import events as e
from fleetgate.core import slots
from fleetgate.core.events import Outcome, Reason, Recorded, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import JournalDamaged
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.gateway.fidelity.bridge import GUI, Bridge, open_bridge

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
DAMAGED = Seq(5)


class Damaged(MemoryJournal):
    """A journal in which event 5 of one run cannot be read."""

    bad = RunId("")

    async def read(self, run: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
        batch = await super().read(run, after, items=items, size=size)
        if run != self.bad:
            return batch
        good = [each for each in batch if each.seq < DAMAGED]
        if not good and batch:
            raise JournalDamaged(f"event {DAMAGED} is missing")
        return good


@asynccontextmanager
async def damaged(north: str, monkeypatch: pytest.MonkeyPatch):
    """A bridge that has told nothing of its first run, which is damaged, and its journal."""
    monkeypatch.setattr(slots, "TAIL_SIZE", 0)  # else a run that is followed is told from memory
    monkeypatch.setattr("fleetgate.core.journal.memory.MemoryJournal", Damaged)
    async with open_memory_journal() as journal:
        assert isinstance(journal, Damaged)

        @asynccontextmanager
        async def open():
            yield journal

        async with open_bridge(north, "rvbox", open) as bridge:
            yield bridge, journal


async def whole(bridge: Bridge, name: str) -> None:
    """A run comes, works and ends, over the same link."""
    run = await bridge.start(name, name)
    bridge.say(await bridge.given(name), e.RunStarted(), e.TextProduced(f"{name}\n"), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    bridge.check(run)


@pytest.mark.parametrize("still", [(), (e.TextProduced("more\n"), OK)], ids=["ended", "open"])
@pytest.mark.parametrize("north", ["agency", "iop", "kodelet", "rvbox"])
async def test_i11_a_damaged_run_is_answered_once_and_its_link_goes_on(
    north: str, still: Sequence[e.Event], autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with damaged(north, monkeypatch) as (bridge, journal):
        run = await bridge.start("r1", "r1")
        at_worker = await bridge.given("r1")
        (journal.bad,) = [each.run.id for each in await journal.open_runs()]
        bridge.say(at_worker, e.RunStarted(), *(e.TextProduced(f"{n}\n") for n in range(9)))
        if not still:
            bridge.say(at_worker, OK)
        outcome = await bridge.ended(run)
        assert outcome.state is not RunState.SUCCEEDED
        await whole(bridge, "r2")
        await trio.sleep(600)
        seen = bridge.gateway.seen.entries[GUI]
        assert seen.named("down") == []
        # Another link, as after a restart of the controller, is not held up by it either.
        bridge.gateway.cut("gui")
        await trio.sleep(60)
        await whole(bridge, "r3")
        await trio.sleep(600)
        if still:
            bridge.say(at_worker, *still)
        await whole(bridge, "r4")
        await trio.sleep(600)
        assert len(seen.named("down")) == 1
        assert len(bridge.of_kind(run, e.RunFinished)) == 1
