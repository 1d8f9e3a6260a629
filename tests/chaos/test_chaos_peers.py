"""The controllers of the kill loop keep book of when their links were there."""

from __future__ import annotations

import time

from chaos_peers import TimedEntry
from chaos_site import GRACE

from fleetgate.core.times import SECOND


def test_links_are_timed() -> None:
    entry, before = TimedEntry(), time.time_ns()
    entry.up("peer")
    entry.down("peer", "gone")
    entry.up("peer")
    assert before <= entry.ups[0] <= entry.downs[0] <= entry.ups[1]
    assert len(entry.links) == 2
    assert entry.named("down") == ["gone"]
    now = entry.ups[1] + 1
    assert entry.missed(now)
    assert not entry.missed(now + round(GRACE * SECOND))
