"""What every link must do, as a check to run; pairs of links; links that do wrong.

`check_link` proves a carriage against the promises of `api.Link`. Tests of other rooms use
`memory_link_pair` and `FaultyLink`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, TypeAlias

import attrs
import trio
import trio.testing

from fleetgate.transports.api import (
    FrameTooLong,
    Link,
    LinkBroken,
    LinkClosed,
    LinkError,
    Options,
)
from fleetgate.transports.faults import Direction, Faults, FaultyLink
from fleetgate.transports.memory import memory_link_pair
from fleetgate.transports.open import open_dialer, open_listener

__all__ = [
    "Direction",
    "Faults",
    "FaultyLink",
    "LinkTraits",
    "check_link",
    "clogged",
    "memory_link_pair",
    "open_link_pair",
]

MakePair: TypeAlias = Callable[[], AbstractAsyncContextManager[tuple[Link, Link]]]

SETTLED: Final = 0.02
"""Real seconds in which nothing runs before a full link counts as full: a kernel that hands bytes
from one socket to another does it within a system call."""

_BUFFERS: Final = 16 << 20
"""Bytes that kernel and link may take in for a peer that does not read, and then some."""


@attrs.frozen(slots=True)
class LinkTraits:
    """What differs between carriages.

    `limit`: the pair's limit. `lead`: what a frame must start with. `codes`: whether close codes
    cross, and an end without one is told from an orderly one. `cut_spoils`: whether a cancelled
    send can leave half a frame behind, and so must end the link.
    """

    limit: int = 1 << 20
    lead: bytes = b""
    codes: bool = False
    cut_spoils: bool = True

    def frame(self, number: int, size: int = 0) -> bytes:
        """A frame that says which it is, of at least so many bytes, fit for text too."""
        return (self.lead + b"%d " % number).ljust(size, b".")

    def number(self, frame: bytes) -> int:
        """Which it is. Raises: `AssertionError` where it is not one of `frame`'s, whole."""
        head, space, rest = frame.removeprefix(self.lead).partition(b" ")
        assert space, f"not a frame that was sent: {frame[:40]!r}"
        assert not rest.strip(b"."), f"not a frame that was sent: {frame[:40]!r}"
        return int(head)


@asynccontextmanager
async def open_link_pair(
    address: str, listening: Options, dialling: Options | None = None
) -> AsyncGenerator[tuple[Link, Link], None]:
    """Listen at the address, dial it: the dialled link, and the one that was accepted."""
    accepted: list[Link] = []
    here, over = trio.Event(), trio.Event()

    async def hold(link: Link) -> None:
        accepted.append(link)
        here.set()
        await over.wait()

    async with open_listener(address, listening) as listener, trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, hold)
        async with open_dialer(listener.addresses[0], dialling or listening) as dialer:
            near = await dialer.dial()
            await here.wait()
            try:
                yield near, accepted[0]
            finally:
                over.set()
                with trio.CancelScope(shield=True):
                    await near.close(None)
                    await accepted[0].close(None)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def clogged(
    make_pair: MakePair, traits: LinkTraits
) -> AsyncGenerator[tuple[Link, Link, list[LinkError]], None]:
    """A pair whose first end is stuck in the middle of sending, because the second one does not
    read. The list gets what the stuck send raises in the end."""
    raised: list[LinkError] = []
    size = min(traits.limit, 64 * 1024)

    async def fill(link: Link) -> None:
        number = 0
        try:
            while True:
                await link.send(traits.frame(number, size))
                number += 1
        except LinkError as error:
            raised.append(error)

    async with make_pair() as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(fill, near)
        sent = -1
        while sent != near.statistics().bytes_out:
            sent = near.statistics().bytes_out
            await trio.testing.wait_all_tasks_blocked(SETTLED)
        yield near, far, raised
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def check_link(make_pair: MakePair, traits: LinkTraits | None = None) -> None:
    """Raise `AssertionError` (in a group, where a task of the check found it) unless the links that
    `make_pair` makes keep what `Link` promises. Each pair is used once; where closing is waited
    for, it takes its `close_timeout`."""
    traits = traits or LinkTraits()
    for check in _CHECKS:
        try:
            await check(make_pair, traits)
        except Exception as error:
            error.add_note(f"in {check.__name__}")
            raise


async def _receive_all(link: Link) -> tuple[list[bytes], Exception]:
    """Every frame up to the end, and the end."""
    frames: list[bytes] = []
    try:
        while True:
            frames += await link.receive_some()
    except (trio.EndOfChannel, LinkError) as end:
        return frames, end


async def _carries_both_ways_in_order(make_pair: MakePair, traits: LinkTraits) -> None:
    count = 300
    sizes = (0, 1, 100, min(traits.limit, 70_000))
    sent = [traits.frame(number, sizes[number % len(sizes)]) for number in range(count)]

    async def send(link: Link) -> None:
        await link.send(sent[0])
        await link.send_some(sent[1:200])
        for frame in sent[200:]:
            await link.send(frame)

    async def receive(link: Link) -> None:
        got = [await link.receive()]
        while len(got) < count:
            got += await link.receive_some() if len(got) % 2 else [await link.receive()]
        assert got == sent, "frames were lost, changed or out of order"

    async with make_pair() as (near, far):
        async with trio.open_nursery() as nursery:
            for link in (near, far):
                nursery.start_soon(send, link)
                nursery.start_soon(receive, link)
        for link in (near, far):
            figures = link.statistics()
            assert (figures.frames_in, figures.frames_out) == (count, count)
            assert figures.bytes_in >= sum(map(len, sent)) - count
            assert figures.bytes_out >= sum(map(len, sent)) - count
            assert figures.last_in is not None
            assert figures.last_out is not None


async def _keeps_the_limit(make_pair: MakePair, traits: LinkTraits) -> None:
    async with make_pair() as (near, far), trio.open_nursery() as nursery:
        above = traits.frame(2, traits.limit + 1)
        for batch in ([above], [traits.frame(0), traits.frame(1), above]):
            try:
                await near.send_some(batch)
            except FrameTooLong:
                continue
            raise AssertionError("a frame above the limit was sent")
        good = [traits.frame(3, traits.limit - 1), traits.frame(4, traits.limit)]
        nursery.start_soon(near.send_some, good)
        got = [await far.receive(), await far.receive()]
        assert got == good, "what stood beside a refused frame was sent, or the limit is too low"


async def _ends_in_order(make_pair: MakePair, traits: LinkTraits) -> None:
    async with make_pair() as (near, far):
        ends: list[Exception] = []

        async def read() -> None:
            frames, end = await _receive_all(far)
            assert [traits.number(frame) for frame in frames] == [0, 1]
            ends.append(end)
            ends.append((await _receive_all(far))[1])
            await far.aclose()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await near.send_some([traits.frame(0), traits.frame(1)])
            await near.close(1000)
        assert all(isinstance(end, trio.EndOfChannel) for end in ends)
        await _is_closed(near, traits)
        await _is_closed(far, traits)


async def _is_closed(link: Link, traits: LinkTraits) -> None:
    await _says_closed(link, traits)
    await link.close(1000)
    await link.close(None)
    await link.aclose()
    await _says_closed(link, traits)


async def _says_closed(link: Link, traits: LinkTraits) -> None:
    for call in (lambda: link.send(traits.frame(0)), link.receive, link.receive_some):
        try:
            await call()
        except LinkClosed:
            continue
        raise AssertionError("a closed link was used, and did not say LinkClosed")


async def _wakes_its_own_receiver(make_pair: MakePair, traits: LinkTraits) -> None:
    for code in (1000, None):
        async with make_pair() as (near, far):
            ends: list[Exception] = []

            async def read(link: Link = near, ends: list[Exception] = ends) -> None:
                ends.append((await _receive_all(link))[1])

            async with trio.open_nursery() as nursery:
                nursery.start_soon(read)
                nursery.start_soon(_receive_all, far)
                await trio.testing.wait_all_tasks_blocked()
                await near.close(code)
                await far.close(None)
            assert isinstance(ends[0], LinkClosed)


async def _tells_a_bare_end(make_pair: MakePair, traits: LinkTraits) -> None:
    async with make_pair() as (near, far):
        await near.close(None)
        frames, end = await _receive_all(far)
        assert frames == []
        assert isinstance(end, LinkBroken if traits.codes else (LinkBroken, trio.EndOfChannel))
        for number in range(10_000):
            try:
                await far.send(traits.frame(number, min(1000, traits.limit)))
            except LinkBroken:
                break
        else:
            raise AssertionError("sending to a peer that has gone never said LinkBroken")


async def _carries_codes(make_pair: MakePair, traits: LinkTraits) -> None:
    if not traits.codes:
        return
    async with make_pair() as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(near.close, 4001, "stale session")
        _frames, end = await _receive_all(far)
        assert isinstance(end, LinkBroken)
        assert end.code == 4001, f"code {end.code} came for 4001"
        assert "stale session" in str(end)
        await far.aclose()


async def _ends_one_way_where_it_can(make_pair: MakePair, traits: LinkTraits) -> None:
    async with make_pair() as (near, far), trio.open_nursery() as nursery:
        if await near.send_eof():
            assert isinstance((await _receive_all(far))[1], trio.EndOfChannel)
            nursery.start_soon(far.send, traits.frame(2))
            assert traits.number(await near.receive()) == 2


async def _loses_nothing_when_a_receive_is_cancelled(
    make_pair: MakePair, traits: LinkTraits
) -> None:
    count = 100
    got: list[bytes] = []
    ended = False

    async def send(link: Link) -> None:
        for number in range(0, count, 2):
            await link.send_some([traits.frame(number, 10), traits.frame(number + 1, 20)])
        await link.close(1000)

    async def receive(link: Link, single: bool) -> None:
        nonlocal ended
        try:
            got.extend([await link.receive()] if single else await link.receive_some())
        except trio.EndOfChannel:
            ended = True
            await link.aclose()

    async with make_pair() as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(send, near)
        tries = 0
        while not ended:
            tries += 1
            async with trio.open_nursery() as attempt:
                attempt.start_soon(receive, far, tries % 2 == 0)
                for _ in range(tries % 7):
                    await trio.lowlevel.checkpoint()
                if tries < 5000:
                    attempt.cancel_scope.cancel()
    numbers = [traits.number(frame) for frame in got]
    assert numbers == list(range(count)), "a cancelled receive lost frames"


async def _tears_no_frame_when_a_send_is_cancelled(make_pair: MakePair, traits: LinkTraits) -> None:
    for steps in range(12):
        async with make_pair() as (near, far):
            await _cut_a_send(near, far, traits, steps)


async def _cut_a_send(near: Link, far: Link, traits: LinkTraits, steps: int) -> None:
    size, count = min(traits.limit, 300_000), 64
    batch = [traits.frame(number, size) for number in range(count)]
    got: list[bytes] = []

    async def read() -> None:
        got.extend((await _receive_all(far))[0])
        await far.aclose()

    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as sending:
            sending.start_soon(near.send_some, batch)
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            if steps % 3 == 2:
                await trio.testing.wait_all_tasks_blocked(SETTLED)
            sending.cancel_scope.cancel()
        nursery.start_soon(read)
        try:
            await near.send(traits.frame(count))
            marked = True
        except LinkBroken:
            marked = False
        await near.close(1000)
    numbers = [traits.number(frame) for frame in got]
    ends = [count] if marked else []
    expected = list(range(len(numbers) - len(ends))) + ends
    assert numbers == expected, "a cut send left a torn frame, or frames behind a hole"
    stuck = steps % 3 == 2 and size * count > _BUFFERS
    assert not (marked and stuck and traits.cut_spoils), (
        "a send was cut in the middle, and the link went on as if nothing were"
    )


async def _ends_though_the_peer_does_not_read(make_pair: MakePair, traits: LinkTraits) -> None:
    for code in (1000, None):
        async with clogged(make_pair, traits) as (near, far, raised):
            await near.close(code)
            await trio.testing.wait_all_tasks_blocked()
            assert [type(error) for error in raised] == [LinkClosed]
            frames, end = await _receive_all(far)
            numbers = [traits.number(frame) for frame in frames]
            assert numbers == list(range(len(numbers)))
            assert isinstance(end, (LinkBroken, trio.EndOfChannel))


async def _is_closed_though_closing_is_cancelled(make_pair: MakePair, traits: LinkTraits) -> None:
    async with make_pair() as (near, far):
        with trio.CancelScope() as scope:
            scope.cancel()
            await near.close(1000)
        await _is_closed(near, traits)
        _frames, end = await _receive_all(far)
        assert isinstance(end, (LinkBroken, trio.EndOfChannel))


_CHECKS: Final[tuple[Callable[[MakePair, LinkTraits], Awaitable[None]], ...]] = (
    _carries_both_ways_in_order,
    _keeps_the_limit,
    _ends_in_order,
    _wakes_its_own_receiver,
    _tells_a_bare_end,
    _carries_codes,
    _ends_one_way_where_it_can,
    _loses_nothing_when_a_receive_is_cancelled,
    _tears_no_frame_when_a_send_is_cancelled,
    _ends_though_the_peer_does_not_read,
    _is_closed_though_closing_is_cancelled,
)
