"""Targets that break requirements, for tests of the kits: a requirement that cannot fail is none.

`Bent` stands between a kit and a target that is right, and bends what one says to the other.
`Bad` is no peer at all: it says nothing, or hangs up, or says the same thing to everything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final, TypeAlias

import attrs
import trio
from trio.testing import memory_stream_pair

from fleetgate.gateway.tck.attempt import Target
from fleetgate.gateway.tck.peer import Elsewhere, Pinged, TwoKinds
from fleetgate.transports.api import Link, LinkBroken, LinkClosed, LinkStatistics, Opening
from fleetgate.transports.faults import Trickling
from fleetgate.transports.memory import MemoryLink, memory_link_pair
from fleetgate.transports.websocket_guard import Pings

Change: TypeAlias = Callable[[bytes], Sequence[bytes]]
"""What becomes of a frame: none, one, or several."""


def same(frame: bytes) -> Sequence[bytes]:
    """Nothing becomes of it."""
    return (frame,)


def never(_frame: bytes) -> bool:
    """Of no frame."""
    return False


def as_it_is(opening: Opening) -> Opening:
    """Nothing becomes of it."""
    return opening


def swap(old: str, new: str, count: int = -1) -> Change:
    """Text in a frame is replaced."""
    return lambda frame: (frame.replace(old.encode(), new.encode(), count),)


def drop(text: str) -> Change:
    """Frames with this text do not arrive."""
    return lambda frame: () if text.encode() in frame else (frame,)


def twice(text: str) -> Change:
    """Frames with this text arrive twice."""
    return lambda frame: (frame, frame) if text.encode() in frame else (frame,)


def behind(text: str, extra: bytes) -> Change:
    """Another frame arrives behind those with this text."""
    return lambda frame: (frame, extra) if text.encode() in frame else (frame,)


def before(text: str, extra: bytes) -> Change:
    """Another frame arrives before those with this text."""
    return lambda frame: (extra, frame) if text.encode() in frame else (frame,)


def nth(text: str, number: int, change: Change) -> Change:
    """A change of the frame which is the `number`th with this text, over all links."""
    seen = 0

    def bend(frame: bytes) -> Sequence[bytes]:
        nonlocal seen
        seen += text.encode() in frame
        return change(frame) if text.encode() in frame and seen == number else (frame,)

    return bend


@attrs.frozen(slots=True)
class Bend:
    """What a bent target does wrong. `says` bends what the target says, `hears` what it is told,
    `opens` what is known of it when a link opens;
    `stays`: its end is never seen; `leaves`: it ends a link, in order, behind a frame of which this
    holds; `ends`: how its end looks in place of what it is; `stray`: bytes that come before the end
    of a byte stream."""

    says: Change = same
    hears: Change = same
    opens: Callable[[Opening], Opening] = as_it_is
    stays: bool = False
    leaves: Callable[[bytes], bool] = never
    ends: Exception | None = None
    stray: bytes = b""


def says(old: str, new: str) -> Bend:
    """The target says `new` for `old`."""
    return Bend(says=swap(old, new))


def hears(old: str, new: str) -> Bend:
    """The target takes `old` for `new`."""
    return Bend(hears=swap(old, new))


STAYS: Final = Bend(stays=True)
"""Does not end a link that it must end."""

Mutants: TypeAlias = Sequence[tuple[str, Bend]]
"""Bends, each with the id of a requirement that it breaks."""


class BentLink(Link):
    """A link to a target that is right, bent."""

    def __init__(self, link: Link, bend: Bend) -> None:
        self.opening = bend.opens(link.opening)
        self.speaks_status = link.speaks_status
        self._link = link
        self._bend = bend
        self._came: deque[bytes] = deque()
        self._left = False

    async def receive_some(self) -> Sequence[bytes]:
        while not self._came:
            if self._left:
                raise trio.EndOfChannel
            try:
                frames = await self._link.receive_some()
            except (trio.EndOfChannel, LinkBroken):
                if self._bend.stays:
                    await trio.sleep_forever()
                if self._bend.ends is not None:
                    raise self._bend.ends from None
                raise
            for frame in frames:
                if not self._left:
                    self._came.extend(self._bend.says(frame))
                    self._left = self._bend.leaves(frame)
        came = tuple(self._came)
        self._came.clear()
        return came

    async def receive(self) -> bytes:
        if not self._came:
            self._came.extend(await self.receive_some())
        return self._came.popleft()

    async def send_some(self, frames: Sequence[bytes]) -> None:
        bent = [out for frame in frames for out in self._bend.hears(frame)]
        if bent:
            await self._link.send_some(bent)

    async def send_other(self, frame: bytes) -> None:
        if not isinstance(self._link, TwoKinds):
            raise Elsewhere("the bent link has no kinds")
        await self._link.send_other(frame)

    @property
    def pings(self) -> Pings:
        if not isinstance(self._link, Pinged):
            raise AttributeError("the bent link has no pings")
        return self._link.pings

    async def close(self, code: int | None, reason: str = "") -> None:
        await self._link.close(code, reason)

    def statistics(self) -> LinkStatistics:
        return self._link.statistics()

    def trickle(self, piece: int | None) -> None:
        if isinstance(self._link, Trickling):
            self._link.trickle(piece)


class BentStream(trio.abc.HalfCloseableStream):
    """A byte stream to a target that is right, bent."""

    def __init__(self, stream: trio.abc.Stream, bend: Bend) -> None:
        self._stream = stream
        self._bend = bend
        self._stray = bend.stray

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        while True:
            try:
                data = bytes(await self._stream.receive_some(max_bytes))
            except trio.BrokenResourceError:
                data = b""
            if not data and self._stray:
                data, self._stray = self._stray, b""
                return data
            if not data and self._bend.stays:
                await trio.sleep_forever()
            if not data:
                return data
            if bent := b"".join(self._bend.says(data)):
                return bent

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(b"".join(self._bend.hears(bytes(data))))

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        assert isinstance(self._stream, trio.abc.HalfCloseableStream)
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()


class Bent:
    """A target that is right, bent."""

    def __init__(self, target: Target, bend: Bend) -> None:
        self.address = target.address
        self._target = target
        self._bend = bend

    async def link(self, stack: AsyncExitStack, arrive: float, **changes: Any) -> Link:
        """A bent link."""
        return BentLink(await self._target.link(stack, arrive, **changes), self._bend)

    async def stream(self, stack: AsyncExitStack) -> trio.abc.Stream | None:
        """A bent stream."""
        stream = await self._target.stream(stack)
        return None if stream is None else BentStream(stream, self._bend)

    async def refuse(self, status: int, within: float, after: float) -> int:
        """As the target has it."""
        return await self._target.refuse(status, within, after)

    async def want(self, what: str, **details: str) -> bool:
        """As the target has it."""
        return await self._target.want(what, **details)


class Bad:
    """No peer at all. `hangs_up`: each link ends at once; `answer` is said to everything; else
    nothing is ever said."""

    address = "memory:bad"

    def __init__(
        self, nursery: trio.Nursery, answer: bytes | None = None, *, hangs_up: bool = False
    ) -> None:
        self._nursery = nursery
        self._answer = answer
        self._hangs_up = hangs_up

    async def link(self, stack: AsyncExitStack, arrive: float, **changes: Any) -> Link:
        """A link to nobody."""
        near, far = memory_link_pair(limit=1 << 24)
        stack.push_async_callback(near.close, None)
        stack.push_async_callback(far.close, None)
        if self._hangs_up:
            await far.close(1000)
        else:
            self._nursery.start_soon(self._answer_all, far)
        return near

    async def _answer_all(self, link: MemoryLink) -> None:
        with suppress(LinkBroken, LinkClosed):  # the kit has left
            if self._answer is not None:
                await link.send(self._answer)
            async for _ in link:
                if self._answer is not None:
                    await link.send(self._answer)

    async def stream(self, stack: AsyncExitStack) -> trio.abc.Stream | None:
        """A stream to nobody."""
        near, far = memory_stream_pair()
        if self._hangs_up:
            await far.aclose()
        elif self._answer is not None:
            await far.send_all(self._answer)
        return near

    async def refuse(self, status: int, within: float, after: float) -> int:
        """Nobody comes."""
        await trio.sleep(within)
        return 0

    async def want(self, what: str, **details: str) -> bool:
        """It is asked in vain."""
        return True
