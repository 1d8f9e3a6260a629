"""Those who watch workers come and go."""

from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import LINK, POOL, HandWorker, worker_info
from fleetgate.core.times import SECOND
from fleetgate.core.watchers import Happening, Watchers, WorkerNotice


def told(notices: list[WorkerNotice]) -> list[tuple[Happening, str, str]]:
    return [(n.happening, n.worker.id if n.worker else "", n.reason) for n in notices]


async def test_a_watch_begins_with_those_who_are_here_and_goes_on(
    hub: Hub, worker: HandWorker, autojump_clock: trio.testing.MockClock
) -> None:
    connecting = HandWorker(hub, worker_info("late"))
    await connecting.admit()
    seen: list[WorkerNotice] = []
    stop = hub.watch(LINK, seen.append)
    assert told(seen) == [(Happening.PRESENT, f"{POOL}/w", "")]
    connecting.ready()
    worker.leave()
    again = HandWorker(hub, worker_info("late", grace=SECOND))
    await again.join()
    again.leave()
    await trio.sleep(2)
    assert told(seen[1:]) == [
        (Happening.CONNECTED, f"{POOL}/late", ""),
        (Happening.DISCONNECTED, f"{POOL}/w", "the test cut it"),
        (Happening.DISCONNECTED, f"{POOL}/late", "replaced"),
        (Happening.CONNECTED, f"{POOL}/late", ""),
        (Happening.DISCONNECTED, f"{POOL}/late", "the test cut it"),
        (Happening.LOST, f"{POOL}/late", ""),
    ]
    stop()
    stop()
    await worker.join()
    assert len(seen) == 7


async def test_a_worker_that_never_was_ready_is_not_told_of(hub: Hub) -> None:
    seen: list[WorkerNotice] = []
    hub.watch(LINK, seen.append)
    shy = HandWorker(hub, worker_info("shy"))
    await shy.admit()
    shy.leave()
    await wait_all_tasks_blocked()
    assert seen == []


def test_only_those_are_told_whom_it_concerns() -> None:
    watchers = Watchers(
        lambda link: {"mine"} if link == "north" else set(), iter(range(1, 9)).__next__
    )
    north: list[WorkerNotice] = []
    other: list[WorkerNotice] = []
    watchers.watch("north", north.append, ())
    watchers.watch("other", other.append, ())
    watchers.tell(Happening.TOLD, worker_info(pool="mine"), body={"a": 1})
    watchers.tell(Happening.TOLD, worker_info(pool="theirs"))
    watchers.tell(Happening.TOLD, None, "why")
    assert [notice.time for notice in north] == [1, 3]
    assert [notice.time for notice in other] == [3]
    assert north[0].body == {"a": 1}
