"""The runs that one link follows."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import Recorded
from fleetgate.core.follow import BATCH_ITEMS
from fleetgate.core.hub_testing import DONE, HandWorker, hub_on, served, started, worker_info
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import JournalFailing
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway import followers
from fleetgate.gateway.followers import Followers, TooMany
from fleetgate.gateway.outbox import HIGH_FRAMES, Outbox


def whole(take: Callable[[Sequence[Recorded]], object]) -> Callable[[Sequence[Recorded]], int]:
    """A link that delivers each batch as it is."""

    def deliver(batch: Sequence[Recorded]) -> int:
        take(batch)
        return len(batch)

    return deliver


async def test_a_full_outbox_holds_a_follower_and_unfollowing_ends_it_at_once() -> None:
    async with served() as (_, hub, worker, nursery):
        run = await started(hub)
        outbox, seen, refused = Outbox(), list[Recorded](), list[Unavailable]()
        follow = Followers(hub, outbox, whole(seen.extend), lambda *told: refused.append(told[-1]))
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


@pytest.mark.limit("gateway/followers.MAX_FOLLOWED")
async def test_I9_so_many_runs_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followers, "MAX_FOLLOWED", 2)
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        follow = Followers(hub, Outbox(), len, lambda *told: None)
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
        follow = Followers(hub, Outbox(), len, lambda *told: refused.append(told[-1]))
        follow.follow(nursery, run, Seq(0))
        await wait_all_tasks_blocked()
        assert "disk I/O error" in refused[0].message
        nursery.cancel_scope.cancel()


async def test_who_has_all_that_is_committed_has_caught_up() -> None:
    async with served() as (_, hub, worker, nursery):
        run, ended = await started(hub), await started(hub, "ended")
        worker.record(ended, DONE)
        await wait_all_tasks_blocked()
        outbox, seen = Outbox(), list[Recorded]()
        follow = Followers(hub, outbox, whole(seen.extend), lambda *told: None)
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


async def test_one_task_delivers_all_runs_of_a_link_each_in_turn() -> None:
    async with served() as (_, hub, worker, nursery):
        runs = [await started(hub, name) for name in "abc"]
        batches: list[Sequence[Recorded]] = []
        follow = Followers(hub, Outbox(), whole(batches.append), lambda *told: None)
        for run in runs:
            follow.follow(nursery, run, Seq(0))
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        batches.clear()
        for run in runs:
            worker.record(run, *[e.TextProduced("x")] * (2 * BATCH_ITEMS))
        await wait_all_tasks_blocked()
        assert [batch[0].run for batch in batches] == [*runs, *runs]
        for run in runs:
            numbers = [each.seq for batch in batches for each in batch if each.run == run]
            assert numbers == list(range(2, 2 * BATCH_ITEMS + 2))
        for run in runs:
            follow.unfollow(run)
        await wait_all_tasks_blocked()
        assert not nursery.child_tasks
        follow.follow(nursery, runs[0], Seq(1))
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        nursery.cancel_scope.cancel()


async def test_i8_a_run_with_much_to_say_is_overtaken_by_others() -> None:
    async with served() as (_, hub, worker, nursery):
        busy, other = await started(hub, "busy"), await started(hub, "other")
        batches: list[Sequence[Recorded]] = []
        follow = Followers(hub, Outbox(), whole(batches.append), lambda *told: None)
        for run in (other, busy):
            follow.follow(nursery, run, Seq(0))
            await wait_all_tasks_blocked()
        batches.clear()
        worker.record(busy, *[e.TextProduced("x")] * BATCH_ITEMS)
        worker.record(other, e.TextProduced("x"))
        await wait_all_tasks_blocked()
        assert [batch[0].run for batch in batches] == [other, busy]
        nursery.cancel_scope.cancel()


async def test_a_batch_may_be_delivered_part_by_part_as_long_as_its_run_is_followed() -> None:
    async with served() as (_, hub, worker, nursery):
        run = await started(hub)
        seen: list[Seq] = []

        def deliver(batch: Sequence[Recorded]) -> int:
            assert len(seen) == len(set(seen))
            seen.extend(each.seq for each in batch[:2])
            if seen[-1] == 5:
                follow.follow(nursery, run, Seq(6))  # from another place, in place of the others
            return len(batch[:2])

        follow = Followers(hub, Outbox(), deliver, lambda *told: None)
        follow.follow(nursery, run, Seq(0))
        await wait_all_tasks_blocked()
        worker.record(run, *[e.TextProduced("x")] * 8)
        await wait_all_tasks_blocked()
        assert seen == [1, 2, 3, 4, 5, 7, 8, 9]
        assert follow.reached(run) == (6, 9)
        nursery.cancel_scope.cancel()


async def test_i8_who_waits_for_news_has_no_batch_in_hand() -> None:
    async with served() as (journal, hub, _, nursery):
        run = await started(hub)
        await wait_all_tasks_blocked()  # behind that, only the journal has it
        seen: list[weakref.ref[Sequence[Recorded]]] = []
        follow = Followers(
            hub,
            Outbox(),
            whole(lambda batch: seen.append(weakref.ref(batch))),
            lambda *told: None,
        )
        read = journal.read

        async def reading(run: RunId, after: Seq, *, items: int, size: int) -> Batch:
            return Batch(await read(run, after, items=items, size=size))

        journal.read = reading  # type: ignore[method-assign]
        follow.follow(nursery, run, Seq(0))
        await wait_all_tasks_blocked()
        assert [each() for each in seen] == [None]
        nursery.cancel_scope.cancel()


class Batch(list[Recorded]):
    """One whose end can be watched."""


async def test_a_batch_that_comes_when_its_run_is_not_followed_any_more_goes_nowhere() -> None:
    async with served() as (journal, hub, worker, nursery):
        run, other = await started(hub), await started(hub, "other")
        go_on, read = trio.Event(), journal.read

        async def slowly(id: RunId, after: Seq, *, items: int, size: int) -> Sequence[Recorded]:
            if id == run:
                with trio.CancelScope(shield=True):
                    await go_on.wait()
            return await read(id, after, items=items, size=size)

        journal.read = slowly  # type: ignore[method-assign]
        seen: list[Recorded] = []
        follow = Followers(hub, Outbox(), whole(seen.extend), lambda *told: None)
        follow.follow(nursery, run, Seq(0))
        follow.follow(nursery, other, Seq(0))
        await wait_all_tasks_blocked()
        follow.unfollow(run)
        follow.follow(nursery, run, Seq(1))
        assert follow.reached(run) == (1, 1)
        go_on.set()
        await wait_all_tasks_blocked()
        assert [(each.run, each.seq) for each in seen] == [(other, 1)]
        worker.record(run, e.TextProduced("x"))
        await wait_all_tasks_blocked()
        assert [(each.run, each.seq) for each in seen] == [(other, 1), (run, 2)]
        nursery.cancel_scope.cancel()


async def test_what_a_link_followed_is_let_go_when_it_ends() -> None:
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        async with trio.open_nursery() as nursery:
            follow = Followers(hub, Outbox(), len, lambda *told: None)
            follow.follow(nursery, run, Seq(0))
            await wait_all_tasks_blocked()
            assert hub.ladders.passages.sent(run)[0].now
            nursery.cancel_scope.cancel()
        assert follow.reached(run) is None
        assert not hub.ladders.passages.sent(run)[0].now
