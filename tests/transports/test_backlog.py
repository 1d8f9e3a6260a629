from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio

from fleetgate.transports.api import LinkClosed, LinkStatistics
from fleetgate.transports.backlog import BatchedLink


class Batches(BatchedLink):
    """Has these batches, then the end."""

    def __init__(self, *batches: Sequence[bytes]) -> None:
        super().__init__()
        self._batches = list(batches)

    async def _fetch(self) -> Sequence[bytes]:
        await trio.lowlevel.checkpoint()
        if not self._batches:
            raise trio.EndOfChannel
        return self._batches.pop(0)

    async def send_some(self, frames: Sequence[bytes]) -> None:
        raise AssertionError("not sent on")

    async def close(self, code: int | None, reason: str = "") -> None:
        self._closing = True

    def statistics(self) -> LinkStatistics:
        return LinkStatistics()


async def test_frames_come_singly_or_all_at_once_in_order() -> None:
    link = Batches([b"a", b"b", b"c"], [b"d"], [b"e", b"f"])
    assert await link.receive() == b"a"
    assert await link.receive_some() == (b"b", b"c")
    assert await link.receive_some() == [b"d"]
    assert [frame async for frame in link] == [b"e", b"f"]
    with pytest.raises(trio.EndOfChannel):
        await link.receive()


async def test_a_closed_link_gives_out_nothing_more() -> None:
    link = Batches([b"a", b"b"])
    await link.receive()
    await link.aclose()
    with pytest.raises(LinkClosed):
        await link.receive()
    with pytest.raises(LinkClosed):
        await link.receive_some()


async def test_cancelling_keeps_what_has_come() -> None:
    link = Batches([b"a", b"b"])
    assert await link.receive() == b"a"
    for call in (link.receive, link.receive_some):
        with trio.CancelScope() as scope:
            scope.cancel()
            await call()
        assert scope.cancelled_caught
    assert await link.receive() == b"b"
