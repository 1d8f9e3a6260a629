"""The runs that one link follows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import Recorded
from fleetgate.core.hub_testing import DONE, HandWorker, hub_on, started, worker_info
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import JournalFailing
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway import followers
from fleetgate.gateway.followers import Followers, TooMany
from fleetgate.gateway.outbox import HIGH_FRAMES, Outbox


async def test_a_full_outbox_holds_a_follower_and_unfollowing_ends_it_at_once() -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        outbox, seen, refused = Outbox(), list[Recorded](), list[Unavailable]()
        follow = Followers(hub, outbox, seen.extend, refused.append)
        follow.follow(nursery, run, Seq(0))
        await wait_all_tasks_blocked()
        assert [each.seq for each in seen] == [1]
        for _ in range(HIGH_FRAMES):
            outbox.put(b"x")
        worker.record(run, e.TextProduced("held"))
        await wait_all_tasks_blocked()
        assert len(seen) == 1
        follow.unfollow(run)
        await outbox.take()
        outbox.sent()
        await wait_all_tasks_blocked()
        assert len(seen) == 1
        follow.unfollow(RunId("never followed"))
        assert refused == []
        nursery.cancel_scope.cancel()


async def test_I9_so_many_runs_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followers, "MAX_FOLLOWED", 2)
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        follow = Followers(hub, Outbox(), lambda batch: None, lambda refusal: None)
        for name in ("a", "b", "a"):
            follow.follow(nursery, RunId(name), Seq(0))
        with pytest.raises(TooMany, match="2 runs"):
            follow.follow(nursery, RunId("c"), Seq(0))
        nursery.cancel_scope.cancel()


async def test_a_journal_that_cannot_be_read_is_told() -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        run = await started(hub)
        await hub.submit(c.CancelRun(run))
        await wait_all_tasks_blocked()

        async def read(*_: object, **__: object) -> Sequence[Recorded]:
            raise JournalFailing("disk I/O error")

        journal.read = read  # type: ignore[method-assign]
        refused: list[Unavailable] = []
        follow = Followers(hub, Outbox(), lambda batch: None, refused.append)
        follow.follow(nursery, run, Seq(0))
        await wait_all_tasks_blocked()
        assert "disk I/O error" in refused[0].message
        nursery.cancel_scope.cancel()


async def test_who_has_all_that_is_committed_has_caught_up() -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run, ended = await started(hub), await started(hub, "ended")
        worker.record(ended, DONE)
        await wait_all_tasks_blocked()
        outbox, seen = Outbox(), list[Recorded]()
        follow = Followers(hub, outbox, seen.extend, lambda refusal: None)
        await follow.caught_up()  # of nothing
        for each in (run, ended):
            follow.follow(nursery, each, Seq(0))
        await follow.caught_up()
        assert sorted(type(each.event).__name__ for each in seen) == [
            "RunAssigned",
            "RunAssigned",
            "RunFinished",
        ]
        for _ in range(HIGH_FRAMES):
            outbox.put(b"x")
        worker.record(run, e.TextProduced("held"))
        await wait_all_tasks_blocked()
        with trio.move_on_after(0) as behind:
            await follow.caught_up()
        assert behind.cancelled_caught
        async with trio.open_nursery() as waiting:
            waiting.start_soon(follow.caught_up)
            await wait_all_tasks_blocked()
            follow.unfollow(run)
        nursery.cancel_scope.cancel()
    await follow.caught_up()
