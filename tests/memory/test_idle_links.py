"""What a link takes that stands and does nothing."""

from __future__ import annotations

import pytest
import trio
from memory_gateway import NODES, Served, say
from memory_peers import ENTRIES, stand

BEFORE = 20
"""Links that come first: what the first of them brings about is not counted."""

IDLE_LINK = 72 << 10
"""Bytes that docs/guarantees.md states for one, of any protocol and carriage."""


@pytest.mark.slow
@pytest.mark.parametrize("protocol", sorted(ENTRIES))
async def test_i9_so_many_idle_links(protocol: str, served: Served) -> None:
    async with trio.open_nursery() as nursery:
        await stand(served, protocol, range(BEFORE), nursery)
        before = served.rss
        await stand(served, protocol, range(BEFORE, NODES), nursery)
        status = await served.status()
        grown = served.rss - before
        (entry,) = (each for each in status["entries"] if each["entry"] == ENTRIES[protocol])
        each = grown / (NODES - BEFORE)
        say(f"{protocol}: {NODES} idle links, {each / 1024:.1f} KiB each")
        assert len(entry["links"]) == NODES
        assert each < IDLE_LINK
        nursery.cancel_scope.cancel()
