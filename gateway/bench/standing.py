"""What a hub stands among: a long journal, many open runs, many workers, many followers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import attrs
import trio

from fleetgate.core import events as e
from fleetgate.core.errors import Refusal
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import HandWorker, hub_on, read_until, started, worker_info
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import Journal, PutNote
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.gateway.followers import Followers
from fleetgate.gateway.outbox import Outbox

_T = TypeVar("_T")

AT_ONCE: Final = 64
"""Events that a worker reports together."""

SIDE_BY_SIDE: Final = 500
"""Commands that are waited for together, so that they share commits."""

BODY: Final = e.TextProduced("." * 256)


@attrs.frozen(slots=True)
class Standing:
    """A hub at work, and the worker that takes all its runs."""

    hub: Hub
    journal: Journal
    worker: HandWorker

    async def say(self, run: RunId, events: int) -> None:
        """Have the worker report so many texts of a run, and wait until they are durable."""
        for at in range(0, events, AT_ONCE):
            assert self.worker.record(run, *[BODY] * min(AT_ONCE, events - at))
            await self.hub.wait_room()
        await self.durable()

    async def durable(self) -> None:
        """Wait until everything that was put in line is durable."""
        await self.journal.commit([PutNote("bench", "mark", b"")])

    async def run(self, name: str) -> RunId:
        """A run at the worker that has said its first text."""
        run = await started(self.hub, name)
        await read_until(self.hub, run, 1)
        assert self.worker.record(run, e.RunStarted(), BODY)
        return run

    async def open_runs(self, count: int) -> None:
        """Start so many runs; the worker does nothing with them."""
        await _all(partial(started, self.hub, f"open-{count}-{nth}") for nth in range(count))
        await self.durable()

    async def idle_workers(self, count: int) -> None:
        """So many workers come that take no run."""
        await _all(partial(self._idle, f"{count}-{nth}") for nth in range(count))

    async def _idle(self, name: str) -> None:
        await HandWorker(self.hub, worker_info(f"idle-{name}")).join(0)

    async def follow(self, run: RunId, count: int, nursery: trio.Nursery) -> None:
        """So many links follow a run, and have all that there is of it when this returns."""
        for _ in range(count):
            link = Followers(self.hub, Outbox(), _take, _refuse)
            link.follow(nursery, run, Seq(0))
            await link.caught_up()


def _take(batch: Sequence[e.Recorded]) -> int:
    """A link whose protocol shows nothing of it."""
    return len(batch)


def _refuse(run: RunId, reached: Seq, refusal: Refusal) -> None:
    raise refusal


async def _all(calls: Iterable[Callable[[], Awaitable[object]]]) -> None:
    for some in batched(calls, SIDE_BY_SIDE):
        async with trio.open_nursery() as nursery:
            for call in some:
                nursery.start_soon(call)


def batched(calls: Iterable[_T], count: int) -> Iterator[Sequence[_T]]:
    """So many at a time, in order."""
    left = iter(calls)
    while some := tuple(islice(left, count)):
        yield some


@asynccontextmanager
async def open_standing(path: Path) -> AsyncGenerator[Standing]:
    """A hub on a durable journal at `path`, with its worker there."""
    async with open_sqlite_journal(path) as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        yield Standing(hub, journal, worker)
