"""How many runs of an entry are with workers at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core import commands as c
from fleetgate.core.errors import Unavailable
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    LINK,
    HandWorker,
    hub_on,
    read_until,
    start_run,
    started,
    worker_info,
)
from fleetgate.core.journal.api import Journal, JournalConflict
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.rows import Row
from fleetgate.core.limits import Limits
from fleetgate.core.pace import Pace
from fleetgate.core.run import start
from fleetgate.core.times import SECOND


def make_run(name: str, link: str = LINK):
    return start(start_run(name, link=link), now=0).run


def test_an_entry_with_a_limit_is_held_back_and_no_other() -> None:
    pace = Pace()
    pace.limit(LINK, 1)
    assert pace.may_go(make_run("a"))
    pace.went(make_run("a"))
    assert not pace.may_go(make_run("b"))
    assert pace.may_go(make_run("c", "other"))
    assert pace.ended(make_run("a"))
    assert pace.may_go(make_run("b"))
    assert not pace.ended(make_run("c", "other"))


def test_a_limit_is_lifted_and_counts_what_went_before_it() -> None:
    pace = Pace()
    pace.went(make_run("a"))
    pace.limit(LINK, 1)
    assert not pace.may_go(make_run("b"))
    pace.limit(LINK, None)
    assert pace.may_go(make_run("b"))


async def given(worker: HandWorker) -> list[str]:
    await wait_all_tasks_blocked()
    return [order.run.partition("/")[2] for order in worker.port.orders]


async def test_runs_wait_in_order_until_one_ends(hub: Hub, worker: HandWorker) -> None:
    await hub.submit(c.LimitLink(LINK, 2))
    runs = [await started(hub, name) for name in "abcd"]
    assert await given(worker) == ["a", "b"]
    worker.record(runs[1], DONE)
    await read_until(hub, runs[1], 2)
    assert await given(worker) == ["a", "b", "c"]
    await hub.submit(c.CancelRun(runs[3]))
    await hub.submit(c.LimitLink(LINK, None))
    assert await given(worker) == ["a", "b", "c"]


async def test_lifting_the_limit_lets_all_go(hub: Hub, worker: HandWorker) -> None:
    await hub.submit(c.LimitLink(LINK, 1))
    for name in "abc":
        await started(hub, name)
    await hub.submit(c.LimitLink(LINK, None))
    assert await given(worker) == ["a", "b", "c"]


async def test_the_limit_and_what_it_counts_outlive_the_gateway(journal: Journal) -> None:
    async with hub_on(journal) as hub:
        await HandWorker(hub, worker_info()).join()
        await hub.submit(c.LimitLink(LINK, 1))
        await started(hub, "a")
        await started(hub, "b")
        await wait_all_tasks_blocked()
    async with hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        admission = await worker.join()
        assert [held.run.origin.native_run for held in admission.held] == ["a"]
        assert await given(worker) == []
        worker.record(admission.held[0].run.id, DONE)
        assert await given(worker) == ["b"]


@pytest.mark.parametrize("first", ["one", "two"])
async def test_the_oldest_run_of_the_entry_goes_first_whatever_its_pool(
    hub: Hub, first: str
) -> None:
    class TwoWays:
        def route(self, link: str, spec: c.RunSpec, created: int = 0) -> tuple[str, c.RunSpec]:
            return spec.labels["pool"], spec

        def pools(
            self, link: str, labels: Mapping[str, str] | None = None
        ) -> dict[str, tuple[str, ...]]:
            return {"one": (), "two": ()}

        def denies(self, link: str, pool: str) -> bool:
            return False

        def hears_decisions(self, pool: str) -> bool:
            return True

    hub.router = TwoWays()
    workers = {}
    for pool in ("one", "two"):
        workers[pool] = HandWorker(hub, attrs.evolve(worker_info(pool), pool=pool))
        await workers[pool].join()
    await hub.submit(c.LimitLink(LINK, 1))
    then = "two" if first == "one" else "one"
    for name, pool in (("a", first), ("b", then), ("c", first)):
        await started(hub, name, c.RunSpec(c.Prompt("x"), labels={"pool": pool}))
        await wait_all_tasks_blocked()
    workers[first].record(start_run("a").run, DONE)
    assert await given(workers[first]) == ["a"]
    assert await given(workers[then]) == ["b"]


async def test_a_limit_that_is_late_holds_from_its_commit_on(autojump_clock: MockClock) -> None:
    async with (
        open_memory_journal() as journal,
        hub_on(journal, Limits(answer_within=SECOND)) as hub,
    ):
        worker = HandWorker(hub, worker_info())
        await worker.join()
        store = journal.store

        async def slow(groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
            await trio.sleep(5)
            return await store(groups)

        journal.store = slow  # type: ignore[method-assign]
        with pytest.raises(Unavailable, match="in time"):
            await hub.submit(c.LimitLink(LINK, 0))
        await trio.sleep(10)
        journal.store = store  # type: ignore[method-assign]
        await started(hub)
        await wait_all_tasks_blocked()
        assert await journal.notes("pace") == {LINK: b"0"}
        assert worker.port.orders == []
