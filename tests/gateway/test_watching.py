"""What one link watches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fleetgate.core.hub_testing import HandWorker, hub_on, worker_info
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.watchers import Happening, WorkerNotice
from fleetgate.gateway.outbox import HIGH_FRAMES, Outbox
from fleetgate.gateway.watching import EXHAUSTED, Watch
from fleetgate.protocols.api import Close, Connection, Steps


def perform(now: int, call: Callable[[int], Steps]) -> None:
    assert call(now) == ()


class Told(Connection):
    """Remembers notices."""

    def __init__(self) -> None:
        self.notices: list[WorkerNotice] = []

    def noticed(self, notice: WorkerNotice, now: int) -> Steps:
        self.notices.append(notice)
        return ()


async def test_a_watch_begins_once_ends_once_and_does_not_outgrow_its_outbox() -> None:
    told = Told()
    closes: list[Close] = []
    outbox = Outbox()
    async with open_memory_journal() as journal, hub_on(journal) as hub:
        watch = Watch(hub, outbox, told, partial(perform, 0), closes.append)
        watch.stop()
        watch.start()
        watch.start()
        worker = HandWorker(hub, worker_info())
        await worker.join()
        assert [notice.happening for notice in told.notices] == [Happening.CONNECTED]
        for _ in range(HIGH_FRAMES):
            outbox.put(b"x")
        worker.leave()
        assert [close.status for close in closes] == [EXHAUSTED]
        watch.stop()
        await worker.join()
    assert len(told.notices) == len(closes) == 1
