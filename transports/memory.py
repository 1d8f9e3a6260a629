"""Links inside one process: bounded queues of frames. The reference that others are held to.

Close codes cross as they do on a WebSocket: 1000 and 1001 end the peer's `receive` in order,
any other code, or none, as broken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import attrs
import trio

from fleetgate.transports.address import Address
from fleetgate.transports.api import (
    ABNORMAL_CLOSURE,
    Dialer,
    DialFailed,
    DialRefused,
    FrameTooLong,
    Handler,
    Link,
    LinkBroken,
    LinkClosed,
    LinkStatistics,
    Listener,
    ListenFailed,
    Opening,
    Options,
)
from fleetgate.transports.meter import Meter
from fleetgate.transports.serving import log_report, serve_link
from fleetgate.transports.upgrade import choose_subprotocol, is_final, offered_headers, refusal

BUFFER: Final = 64
"""Frames that wait on one direction before `send` does: enough to hide a task switch, little
enough that a test of back-pressure is short."""

BACKLOG: Final = 128
"""Links dialled and not yet served, as a socket's listen backlog."""

IN_ORDER: Final = (1000, 1001)
"""Close codes after which the peer has closed in order: normal, and going away."""


@attrs.frozen(slots=True)
class _End:
    """How a link ended. Each raise gets an error of its own: one that is raised again and again
    would gather tracebacks."""

    text: str
    code: int | None

    def error(self) -> LinkBroken | trio.EndOfChannel:
        if self.code in IN_ORDER:
            return trio.EndOfChannel()
        return LinkBroken(self.text, code=self.code)


@attrs.define(slots=True, eq=False)
class _Lane:
    """One direction."""

    capacity: int
    frames: deque[bytes] = attrs.field(factory=lambda: deque[bytes]())
    ended: _End | None = None
    """What the receiver meets behind the last frame; set by the sender's close."""
    left: bool = False
    """The receiver has closed: nothing sent will be read."""
    filled: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)
    emptied: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def wake(self) -> None:
        self.filled.unpark_all()
        self.emptied.unpark_all()


class MemoryLink(Link):
    """One end. Made in pairs by `memory_link_pair`, or by dialling `memory:NAME`."""

    def __init__(self, into: _Lane, out: _Lane, limit: int, opening: Opening) -> None:
        self.opening = opening
        self._into = into
        self._out = out
        self._limit = limit
        self._closed = False
        self._meter = Meter()

    async def receive_some(self) -> Sequence[bytes]:
        await trio.lowlevel.checkpoint_if_cancelled()
        lane = self._into
        while not self._closed:
            if lane.frames:
                taken = self._take(lane)
                await trio.lowlevel.cancel_shielded_checkpoint()
                return taken
            if lane.ended is not None:
                await trio.lowlevel.cancel_shielded_checkpoint()
                raise lane.ended.error()
            await lane.filled.park()
        raise LinkClosed("the link was closed here")

    async def receive(self) -> bytes:
        await trio.lowlevel.checkpoint_if_cancelled()
        lane = self._into
        while not self._closed and not lane.frames and lane.ended is None:
            await lane.filled.park()
        if self._closed or not lane.frames:
            return (await self.receive_some())[0]  # which raises
        frame = self._accept(lane.frames[0])
        lane.frames.popleft()
        lane.emptied.unpark()
        self._meter.received(1, len(frame))
        await trio.lowlevel.cancel_shielded_checkpoint()
        return frame

    def _take(self, lane: _Lane) -> Sequence[bytes]:
        taken: list[bytes] = []
        while lane.frames and (not taken or len(lane.frames[0]) <= self._limit):
            taken.append(self._accept(lane.frames[0]))
            lane.frames.popleft()
        lane.emptied.unpark_all()
        self._meter.received(len(taken), sum(map(len, taken)))
        return taken

    def _accept(self, frame: bytes) -> bytes:
        if len(frame) <= self._limit:
            return frame
        self._end(_End("the peer closed with code 1009: frame too long", 1009))
        self._into.ended = _End(
            f"a frame of {len(frame)} bytes came, the limit is {self._limit}", 1009
        )
        raise self._into.ended.error()

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        self._check_sendable()
        for frame in frames:
            if len(frame) > self._limit:
                raise FrameTooLong(f"a frame of {len(frame)} bytes; the limit is {self._limit}")
        lane = self._out
        for frame in frames:
            while len(lane.frames) >= lane.capacity:
                await lane.emptied.park()
                self._check_sendable()
            lane.frames.append(frame)
            lane.filled.unpark_all()
            self._meter.sent(1, len(frame))
        await trio.lowlevel.cancel_shielded_checkpoint()

    def _check_sendable(self) -> None:
        if self._closed:
            raise LinkClosed("the link was closed here")
        if self._out.left or self._out.ended is not None:
            end = self._into.ended
            raise LinkBroken("the link has ended", code=end.code if end is not None else None)

    async def close(self, code: int | None, reason: str = "") -> None:
        if not self._closed:
            self._closed = True
            self._end(_farewell(code, reason))
        await trio.lowlevel.checkpoint()

    def _end(self, farewell: _End) -> None:
        if self._out.ended is None:
            self._out.ended = farewell
        self._into.left = True
        self._into.frames.clear()
        self._out.wake()
        self._into.wake()

    def statistics(self) -> LinkStatistics:
        return self._meter.snapshot()


def _farewell(code: int | None, reason: str) -> _End:
    if code is None:
        return _End("the link ended without a close", ABNORMAL_CLOSURE)
    return _End(f"the peer closed with code {code}: {reason}", code)


def memory_link_pair(
    limit: int = 1 << 20,
    buffer: int = BUFFER,
    openings: tuple[Opening, Opening] | None = None,
    limits: tuple[int, int] | None = None,
) -> tuple[MemoryLink, MemoryLink]:
    """Two ends of one link. `buffer` bounds each direction, in frames. `limits`, where the ends
    differ, stands for `limit`: each end refuses to send, and to receive, what is above its own."""
    there, back = _Lane(buffer), _Lane(buffer)
    first, second = openings or (Opening(peer="memory"), Opening(peer="memory"))
    near, far = limits or (limit, limit)
    return MemoryLink(back, there, near, first), MemoryLink(there, back, far, second)


_listeners: trio.lowlevel.RunVar[dict[str, MemoryListener]] = trio.lowlevel.RunVar(
    "fleetgate.transports.memory"
)


def _registry() -> dict[str, MemoryListener]:
    """The names in use in this trio run."""
    try:
        return _listeners.get()
    except LookupError:
        names: dict[str, MemoryListener] = {}
        _listeners.set(names)
        return names


class MemoryListener(Listener):
    """A name that can be dialled within the same trio run."""

    def __init__(self, address: Address, options: Options) -> None:
        self.addresses = (str(address),)
        self.options = options
        self._name = address.path
        self._arrive, self._arrivals = trio.open_memory_channel[MemoryLink](BACKLOG)
        self._links = 0

    async def serve(self, handler: Handler) -> None:
        async with trio.open_nursery() as nursery:
            async for link in self._arrivals:
                nursery.start_soon(partial(self._serve_one, handler, link))

    async def _serve_one(self, handler: Handler, link: MemoryLink) -> None:
        try:
            await serve_link(link, handler, self.options.report or log_report)
        finally:
            self._links -= 1

    def offer(self, link: MemoryLink) -> None:
        """Hand over the far end of a new link. Raises: `DialFailed`."""
        if self._links >= self.options.max_links:
            raise DialFailed(f"{self.addresses[0]} has {self._links} links and takes no more")
        try:
            self._arrive.send_nowait(link)
        except trio.WouldBlock:
            raise DialFailed(
                f"{self.addresses[0]} has {BACKLOG} links waiting to be served"
            ) from None
        self._links += 1

    async def aclose(self) -> None:
        if _registry().get(self._name) is self:
            del _registry()[self._name]
        self._arrive.close()
        await trio.lowlevel.checkpoint()


class MemoryDialer(Dialer):
    """Reaches a `MemoryListener` by name. Headers, path, subprotocols and `authorize` work as
    they do at a WebSocket upgrade, so that what needs them can run in virtual time."""

    def __init__(self, address: Address, options: Options) -> None:
        self.address = str(address)
        self._name = address.path
        self._options = options

    async def dial(self) -> Link:
        await trio.lowlevel.checkpoint()
        listener = _registry().get(self._name)
        if listener is None:
            raise DialFailed(f"nobody listens at {self.address}")
        ours, theirs = self._options, listener.options
        agreed = choose_subprotocol(ours.subprotocols, theirs.subprotocols)
        asked = Opening("memory", ours.path, offered_headers(ours), (), agreed)
        refused = refusal(theirs, asked)
        if refused is not None:
            raise DialRefused(
                f"{self.address} answered {refused.status}",
                refused.status,
                final=is_final(refused.status),
            )
        openings = (Opening("memory", ours.path, subprotocol=agreed), asked)
        near, far = memory_link_pair(openings=openings, limits=(ours.limit, theirs.limit))
        listener.offer(far)
        return near


@asynccontextmanager
async def open_memory_listener(
    address: Address, options: Options
) -> AsyncGenerator[Listener, None]:
    """Take the name until the end of the block. Raises: `ListenFailed` where it is taken."""
    names = _registry()
    if address.path in names:
        raise ListenFailed(f"{address} is taken: another listener of this process has the name")
    listener = names[address.path] = MemoryListener(address, options)
    try:
        yield listener
    finally:
        await listener.aclose()
