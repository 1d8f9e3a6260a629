"""The one writer of a link, and how long a peer may take to be written to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.hub_testing import TrioClock
from fleetgate.core.timers import Timer, Timers
from fleetgate.gateway.latch import Latch
from fleetgate.gateway.outbox import Outbox
from fleetgate.gateway.writing import CLOSE_WITHIN, LINGER, Writer
from fleetgate.transports.api import FrameRefused, Link, LinkBroken, LinkStatistics


class Slow(Link):
    """A link that takes `seconds` for each call, and remembers what it was given at a time."""

    def __init__(self, *seconds: float, error: Exception | None = None) -> None:
        self._seconds = list(seconds)
        self._error = error
        self.took: list[int] = []
        self.sent: list[bytes] = []
        self.busy = False

    async def send_some(self, frames: Sequence[bytes]) -> None:
        assert not self.busy, "one task sends"
        self.busy = True
        self.took.append(len(frames))
        await trio.sleep(self._seconds.pop(0) if self._seconds else 0)
        self.busy = False
        if self._error is not None:
            raise self._error
        self.sent.extend(frames)

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
    outbox, said, over, told = Outbox(), list[str](), Latch(), trio.Event()

    def tell(why: str) -> None:
        said.append(why)
        told.set()

    if read:
        over.set()
    for _ in range(frames):
        outbox.put(b"x")
    with trio.move_on_after(3600):
        async with open_writer(link, outbox, over, tell, within):
            await told.wait()
    return said[0] if said else ""


@asynccontextmanager
async def open_writer(
    link: Link,
    outbox: Outbox,
    over: Latch,
    broken: Callable[[str], None],
    within: float | None = None,
) -> AsyncGenerator[trio.Nursery]:
    """A writer at work; the nursery has its tasks. They end with the block."""
    clock = TrioClock()
    timers = Timers(clock)
    async with trio.open_nursery() as helpers:
        helpers.start_soon(timers.run)
        async with trio.open_nursery() as nursery:
            writer = Writer(link, outbox, over, broken, clock, timers.at, within)
            writer.start(nursery)
            yield nursery
            writer.stop()
            nursery.cancel_scope.cancel()
        helpers.cancel_scope.cancel()


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


def never(why: str) -> None:
    """A link that does not break."""
    raise AssertionError(why)


@pytest.mark.limit("gateway/writing.LINGER")
async def test_its_task_is_there_while_there_is_something_to_write_and_a_moment_longer(
    autojump_clock: MockClock,
) -> None:
    link, outbox = Slow(), Outbox()
    async with open_writer(link, outbox, Latch(), never) as nursery:
        await wait_all_tasks_blocked()
        assert not nursery.child_tasks
        for frame in (b"1", b"2"):
            outbox.put(frame)
            await outbox.wait_idle()
            await trio.sleep(LINGER * 0.9)
            outbox.put(frame)
            await trio.sleep(LINGER * 0.9)
            assert len(nursery.child_tasks) == 1
            await trio.sleep(LINGER * 1.2)
            assert not nursery.child_tasks
    assert link.sent == [b"1", b"1", b"2", b"2"]


async def test_a_barrier_with_nothing_behind_it_keeps_no_task(autojump_clock: MockClock) -> None:
    link, outbox, bar = Slow(), Outbox(), trio.Event()
    async with open_writer(link, outbox, Latch(), never) as nursery:
        outbox.bar(bar)
        await trio.sleep(LINGER * 2.1)
        assert nursery.child_tasks
        bar.set()
        await trio.sleep(LINGER * 2.1)
        assert not nursery.child_tasks
        outbox.put(b"behind")
        await outbox.wait_idle()
    assert link.sent == [b"behind"]


@given(st.lists(st.sampled_from([0, 0.5, 1, 1.5]), max_size=8), st.sampled_from([0, 0.5, 1]))
def test_every_frame_is_sent_once_and_in_order_whenever_it_is_put(
    waits: list[float], takes: float
) -> None:
    link, outbox = Slow(*[LINGER * takes] * len(waits)), Outbox()

    async def put_all() -> None:
        async with open_writer(link, outbox, Latch(), never):
            for number, wait in enumerate(waits):
                outbox.put(str(number).encode())
                await trio.sleep(LINGER * wait)
            await outbox.wait_idle()

    trio.run(put_all, clock=MockClock(autojump_threshold=0))
    assert link.sent == [str(number).encode() for number in range(len(waits))]


@pytest.mark.parametrize("how", ["broken", "cut"])
async def test_behind_a_frame_that_was_not_whole_nothing_is_sent(
    how: str, autojump_clock: MockClock
) -> None:
    error = LinkBroken("gone") if how == "broken" else None
    link, outbox, over, said = Slow(1, error=error), Outbox(), Latch(), list[str]()
    over.set()
    async with trio.open_nursery() as nursery:
        writer = Writer(link, outbox, over, said.append, TrioClock(), _no_timer)
        writer.start(nursery)
        outbox.put(b"1")
        await trio.sleep(0.5 if how == "cut" else 2)
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await trio.sleep(1)
            outbox.put(b"2")
            await trio.sleep(1)
    assert link.took == [1]
    assert said == (["gone"] if how == "broken" else [])


def _no_timer(when: int, act: Callable[[], None]) -> Timer:
    raise AssertionError("it does not come to rest")


async def test_what_is_put_once_the_link_is_over_begins_nothing(autojump_clock: MockClock) -> None:
    link, outbox = Slow(), Outbox()
    async with trio.open_nursery() as nursery:
        writer = Writer(link, outbox, Latch(), never, TrioClock(), _no_timer)
        writer.start(nursery)
        writer.stop()
    outbox.put(b"late")
    await wait_all_tasks_blocked()
    assert link.took == []
