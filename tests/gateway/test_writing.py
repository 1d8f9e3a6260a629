"""The one writer of a link, and how long a peer may take to be written to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock

from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.writing import CLOSE_WITHIN, Writer
from fleetgate.transports.api import FrameRefused, Link, LinkBroken, LinkStatistics


class Slow(Link):
    """A link that takes `seconds` for each call, and remembers what it was given at a time."""

    def __init__(self, *seconds: float, error: Exception | None = None) -> None:
        self._seconds = list(seconds)
        self._error = error
        self.took: list[int] = []

    async def send_some(self, frames: Sequence[bytes]) -> None:
        self.took.append(len(frames))
        await trio.sleep(self._seconds.pop(0))
        if self._error is not None:
            raise self._error

    async def receive_some(self) -> Sequence[bytes]:
        raise NotImplementedError

    async def receive(self) -> bytes:
        raise NotImplementedError

    def statistics(self) -> LinkStatistics:
        raise NotImplementedError

    async def close(self, code: int | None, reason: str = "") -> None:
        raise NotImplementedError


async def broken(link: Slow, frames: int, within: float | None, read: bool = True) -> str:
    """Write so many frames; why the link is broken then."""
    outbox, said, over = Outbox(), list[str](), trio.Event()
    if read:
        over.set()
    for _ in range(frames):
        outbox.put(b"x")
    with trio.move_on_after(3600):
        await Writer(link, outbox, over, said.append, within).run()
    return said[0] if said else ""


@pytest.mark.parametrize(
    ("within", "seconds", "took", "lasted"),
    [
        (None, (59.0,), [3], 3600.0),
        (None, (61.0,), [3], 60.0),
        (10.0, (9.0, 9.0, 9.0), [1, 1, 1], 3600.0),
        (10.0, (9.0, 11.0, 9.0), [1, 1], 19.0),
    ],
)
async def test_I9_each_write_has_its_time(
    within: float | None,
    seconds: tuple[float, ...],
    took: list[int],
    lasted: float,
    autojump_clock: MockClock,
) -> None:
    link, start = Slow(*seconds), trio.current_time()
    why = await broken(link, 3, within)
    assert link.took == took
    assert trio.current_time() - start == lasted
    assert why == ("" if lasted == 3600 else f"the peer took nothing for {within or 60:g} s")


async def test_a_frame_that_the_link_refuses_breaks_it(autojump_clock: MockClock) -> None:
    assert await broken(Slow(0, error=FrameRefused("no UTF-8")), 1, None) == "no UTF-8"


async def test_what_came_before_a_broken_link_is_taken_first(autojump_clock: MockClock) -> None:
    start = trio.current_time()
    assert await broken(Slow(0, error=LinkBroken("gone")), 1, 10.0, read=False) == "gone"
    assert trio.current_time() - start == CLOSE_WITHIN
