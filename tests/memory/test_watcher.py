"""What a watcher takes that attaches to a long run and reads nothing of it."""

from __future__ import annotations

import pytest
import trio
from memory_gateway import FULL, MIB, Served, journal_size, kept, say, until
from memory_peers import open_peers

from fleetgate.core import follow, slots
from fleetgate.core.events import MAX_BODY
from fleetgate.core.journal import queued, sqlite, tables
from fleetgate.gateway import outbox
from fleetgate.gateway.bench.client import LoadClient
from fleetgate.gateway.bench.host import LoadHost
from fleetgate.gateway.bench.task import Task
from fleetgate.transports.websocket_tap import UNREAD_BYTES

PRODUCED = 1 << 30 if FULL else 256 * MIB

UNREAD = 2 * UNREAD_BYTES
"""Of a worker whose reader waits for room: what it has in hand, and what came behind that."""

IN_LINE = 2 * (queued.QUEUE_SIZE + UNREAD_BYTES)
"""What waits for its commit is there twice: as an event, and as the row that it becomes. The last
that came had room for its first frame only."""

SQLITE = (
    sqlite.CACHE_SIZE
    + sqlite.READERS * sqlite.READ_CACHE_SIZE
    + tables.EVENTS_AT_ONCE * tables.SIZE_AT_ONCE
)

ESCAPED = 6
"""Bytes that a frame has for one of output: JSON's form of a control character."""

WATCHED = slots.TAIL_SIZE + outbox.HIGH_SIZE + (2 + 2 * ESCAPED) * follow.BATCH_SIZE
"""The last batch that comes to the outbox had room for one frame of it: it is there as records, as
events, as frames, and as the bytes of those on the wire."""

LONG_RUN = UNREAD + IN_LINE + SQLITE + WATCHED
"""What a run has in use at most."""


@pytest.mark.slow
async def test_i8_a_watcher_that_reads_nothing(served: Served) -> None:
    async with (
        open_peers(served, "agency") as gui,
        open_peers(served, "rvbox") as hosts,
        await gui.dial() as watcher,
        trio.open_nursery() as nursery,
    ):
        host = LoadHost(await hosts.dial(), plain=False)
        nursery.start_soon(host.run)
        before = served.rss
        task = Task(MAX_BODY, seconds=3_600, events=PRODUCED // MAX_BODY)
        await LoadClient(watcher, task).attach()
        await until(lambda: journal_size(served.root) >= PRODUCED)
        grown = served.peak - before
        say(f"a run of {PRODUCED / MIB:.0f} MiB: {grown / MIB:.0f} MiB")
        assert grown < kept(LONG_RUN)
        nursery.cancel_scope.cancel()
