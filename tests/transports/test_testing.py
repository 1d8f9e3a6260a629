"""A check that cannot fail proves nothing: here it does, for each promise."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from fleetgate.transports.api import (
    FrameTooLong,
    Link,
    LinkBroken,
    LinkError,
    LinkStatistics,
    Options,
)
from fleetgate.transports.backlog import BatchedLink
from fleetgate.transports.faults import Faults, FaultyLink
from fleetgate.transports.framing import make_framer
from fleetgate.transports.memory import memory_link_pair
from fleetgate.transports.stream import StreamLink
from fleetgate.transports.testing import LinkTraits, check_link, clogged, open_link_pair

TRAITS = LinkTraits(codes=True, cut_spoils=False)


class Wrapped(BatchedLink):
    """A link that keeps every promise; those below break one each."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self.link = link
        self.opening = link.opening

    async def _fetch(self) -> Sequence[bytes]:
        return await self.link.receive_some()

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await self.link.send_some(frames)

    async def close(self, code: int | None, reason: str = "") -> None:
        self._closing = True
        await self.link.close(code, reason)

    def statistics(self) -> LinkStatistics:
        return self.link.statistics()


class ForgetsTheLimit(Wrapped):
    async def send_some(self, frames: Sequence[bytes]) -> None:
        try:
            await self.link.send_some(frames)
        except FrameTooLong:
            return


class SendsBesideARefusedFrame(Wrapped):
    async def send_some(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            await self.link.send(frame)


class LosesWhatWasBeingReceived(Wrapped):
    async def _fetch(self) -> Sequence[bytes]:
        frames = await self.link.receive_some()
        await trio.lowlevel.checkpoint()
        return frames


class ForgetsTheCode(Wrapped):
    async def close(self, code: int | None, reason: str = "") -> None:
        await super().close(1000 if code else None, reason)


class EndsWithoutTheEnd(Wrapped):
    async def close(self, code: int | None, reason: str = "") -> None:
        await super().close(None, reason)


class ClosesOnlyUncancelled(Wrapped):
    async def close(self, code: int | None, reason: str = "") -> None:
        await trio.lowlevel.checkpoint()
        await super().close(code, reason)


class CountsNothing(Wrapped):
    def statistics(self) -> LinkStatistics:
        return LinkStatistics()


class GoesOnAfterACut(StreamLink):
    async def _write(self, data: bytes | bytearray) -> None:
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError as error:
            raise LinkBroken("gone") from error


async def drain(link: Link) -> None:
    while True:
        await link.receive_some()


def pairs(
    wrap: Callable[[Link], Link],
) -> Callable[[], AbstractAsyncContextManager[tuple[Link, Link]]]:
    @asynccontextmanager
    async def make_pair() -> AsyncGenerator[tuple[Link, Link], None]:
        near, far = memory_link_pair(buffer=3)
        yield wrap(near), wrap(far)
        await near.close(None)
        await far.close(None)

    return make_pair


async def test_a_good_link_passes() -> None:
    await check_link(pairs(Wrapped), TRAITS)


@pytest.mark.parametrize(
    ("wrap", "check"),
    [
        (ForgetsTheLimit, "_keeps_the_limit"),
        (SendsBesideARefusedFrame, "_keeps_the_limit"),
        (LosesWhatWasBeingReceived, "_loses_nothing"),
        (ForgetsTheCode, "_carries_codes"),
        (EndsWithoutTheEnd, "_ends_in_order"),
        (ClosesOnlyUncancelled, "_is_closed_though"),
        (CountsNothing, "_carries_both_ways"),
        (lambda link: FaultyLink(link, Faults(reorder=0.1)), "_carries_both_ways"),
        (lambda link: FaultyLink(link, Faults(duplicate=0.1)), "_carries_both_ways"),
        (lambda link: FaultyLink(link, Faults(corrupt=0.1)), "_carries_both_ways"),
    ],
)
async def test_a_broken_promise_is_found(
    wrap: Callable[[Link], Link], check: str, autojump_clock: MockClock
) -> None:
    with pytest.raises((AssertionError, ExceptionGroup)) as caught:
        await check_link(pairs(wrap), TRAITS)
    assert check in notes(caught.value)


@asynccontextmanager
async def careless() -> AsyncGenerator[tuple[Link, Link], None]:
    near, far = (
        GoesOnAfterACut(
            trio.SocketStream(trio.socket.from_stdlib_socket(end)),
            make_framer("varint", 1 << 20),
            close_timeout=0.1,
        )
        for end in socket.socketpair()
    )
    try:
        yield near, far
    finally:
        await near.close(None)
        await far.close(None)


async def test_a_torn_frame_is_found() -> None:
    with pytest.raises((AssertionError, ExceptionGroup)) as caught:
        await check_link(careless)
    assert "_tears_no_frame" in notes(caught.value)


def notes(error: BaseException) -> str:
    """All notes in it, and those of what it holds."""
    own = " ".join(getattr(error, "__notes__", ()))
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return " ".join([own, *map(notes, inner)])


async def test_a_clogged_pair_is_stuck_until_the_end() -> None:
    def make_pair():
        return open_link_pair("tcp://127.0.0.1:0", Options(close_timeout=0.1))

    async with clogged(make_pair, LinkTraits()) as (near, far, raised):
        before = near.statistics().frames_out
        await trio.testing.wait_all_tasks_blocked()
        assert near.statistics().frames_out == before > 0
        assert raised == []
        await near.close(None)
        with pytest.raises((trio.EndOfChannel, LinkError)):
            await drain(far)
    assert len(raised) == 1


def test_a_frame_says_which_it_is() -> None:
    traits = LinkTraits(lead=b"\x00")
    assert traits.frame(12) == b"\x0012 "
    assert traits.number(traits.frame(12, 100)) == 12
    assert len(traits.frame(12, 100)) == 100
    for torn in (b"\x001", b"\x0012 ..!", b"\x0012 ..\x0013 "):
        with pytest.raises(AssertionError):
            traits.number(torn)
