"""The stream between a socket and trio-websocket.

trio-websocket does the upgrade, answers pings and closes. All else is done here, where its bytes
pass: they are counted as signs of life; the messages among them are taken out (`Guard`), and those
that nobody has read yet are bounded; one lock makes whole writes of its control frames and of our
messages; a write that was cut ends the stream; and the library cannot close the socket, its owner
does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from enum import Enum, auto
from typing import Final

import attrs
import trio

from fleetgate.transports.at_once import read_some, write_at_once
from fleetgate.transports.meter import Meter
from fleetgate.transports.stream import READ
from fleetgate.transports.websocket_guard import Guard

UNREAD_BYTES: Final = 4 << 20
"""Bytes of whole messages that wait to be read before we stop reading from the socket, at most one
message and one read more. Pings behind unread messages are not seen, so the bound is well above
what a reader leaves lying for a moment."""

UNREAD_MESSAGES: Final = 1024
"""Messages of the same: an empty one takes memory too."""

MORE: Final = 256 * 1024
"""Bytes asked for behind a full read of large messages. Each read costs some turns of the event
loop, of who takes the messages and who answers them, and a commit: with messages of a kilobyte a
seventh of all processor time. Not of small ones: so many would keep the loop for too long."""

LARGE: Final = 256
"""Bytes that the messages of a read must have on average to count as large."""

HEAD: Final = 64 * 1024
"""Bytes of an upgrade, with the body of a refusal. h11 takes 16 KiB of head."""

_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d\.\d (\d{3})\b")
_CLOSE_BYTE: Final = b"\x88"


@attrs.frozen(slots=True)
class Fault:
    """Why a link is broken, where it was not the peer's closing. `code`: the one to send."""

    text: str
    code: int | None = None


class _Stage(Enum):
    HEAD = auto()
    """Until the blank line."""
    PENDING = auto()
    """At the listener: not agreed to yet. At the dialler: refused, the body comes."""
    FRAMES = auto()


class Tap(trio.abc.Stream):
    """One WebSocket's bytes."""

    def __init__(
        self,
        transport: trio.abc.Stream,
        guard: Guard,
        meter: Meter,
        *,
        client: bool,
        control_within: float | None = None,
    ) -> None:
        """`control_within`: seconds that the write of a control frame may take."""
        self.transport = transport
        self.guard = guard
        self.meter = meter
        self.client = client
        self.head = b""
        """The head of the upgrade that came, once it is whole."""
        self.fault: Fault | None = None
        self.close_sent = False
        self.ended = trio.Event()
        """Nothing more comes in, or the library is done with the stream."""
        self.last_pong: float | None = None
        """When one came."""
        self.stalled = False
        """We do not read, because what came lies unread."""
        self.resumed: float | None = None
        """When that was last over. What came before it says nothing of the peer's silence."""
        self.piece: int | None = None
        """Bytes to read and write at most at a time (None: as usual). For tests of peers."""
        self._control_within = float("inf") if control_within is None else control_within
        self._stage = _Stage.HEAD
        self._read_bytes = 0
        self._next_read = READ
        """Bytes that the next read asks for."""
        self._news = trio.Event()
        self._over = False
        self._discarding = False
        self._room = trio.Event()
        self._torn = False
        self._lock = trio.StrictFIFOLock()

    # coming in: called by the library's reader

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        while self.fault is None:
            await self._wait_for_room()
            try:
                data = await read_some(self.transport, self.piece or self._next_read)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self.ended.set()
                raise
            self.meter.received(0, len(data))
            if not data:
                break
            unread = len(self.guard.taken)
            passed = self._pass(bytes(data))
            came = len(self.guard.taken) - unread
            full, large = len(data) >= READ, len(data) >= came * LARGE
            self._next_read = MORE if full and large else READ
            if passed:
                return passed
        self.ended.set()
        return b""

    @property
    def status(self) -> int | None:
        """What the upgrade was answered with, once the head of the answer is whole."""
        status = _STATUS.match(self.head) if self._stage is not _Stage.HEAD else None
        return int(status.group(1)) if status is not None else None

    @property
    def upgraded(self) -> bool:
        """Whether frames are what comes."""
        return self._stage is _Stage.FRAMES

    def accept(self) -> None:
        """We are about to agree to the upgrade: from here on frames may come."""
        self._stage = _Stage.FRAMES

    def discard(self) -> None:
        """We close. What comes is read by nobody any more: it need not wait for room."""
        self._discarding = self.guard.parting = True
        self.guard.taken.clear()
        self._room.set()

    def _pass(self, data: bytes) -> bytes:
        if self._stage is _Stage.FRAMES:
            return self._pass_frames(data)
        if self.meter.bytes_in > HEAD:
            self.fail(f"the upgrade took more than {HEAD} bytes")
            return b""
        if self._stage is _Stage.HEAD:
            return self._pass_head(data)
        return data if self.client else self._too_early()

    def _pass_head(self, data: bytes) -> bytes:
        seen = len(self.head)
        self.head += data
        end = _HEAD_END.search(self.head)
        if end is None:
            return data
        self.head = self.head[: end.end()]
        self._stage = _Stage.PENDING
        cut = end.end() - seen
        if not self.client:
            return data[:cut] + (self._too_early() if data[cut:] else b"")
        if self.status != 101:
            return data
        self._stage = _Stage.FRAMES
        return data[:cut] + self._pass_frames(data[cut:])

    def _too_early(self) -> bytes:
        # wsproto would lose them: it starts a listener's frames with what comes after its answer.
        self.fail("something came between the upgrade and our answer to it")
        return b""

    def _pass_frames(self, data: bytes) -> bytes:
        pongs = self.guard.pongs
        passed = self.guard.feed(data)
        if self.guard.pongs != pongs:
            self.last_pong = trio.current_time()
        violation = self.guard.violation
        if violation is not None:
            self.fail(violation.text, violation.code)
        if self._discarding:
            self.guard.taken.clear()
        if self.guard.taken:
            self._news.set()
        return passed

    async def _wait_for_room(self) -> None:
        if not self._full():
            return
        self.stalled = True
        while self._full():
            self._room = trio.Event()
            await self._room.wait()
        self.stalled = False
        self.resumed = trio.current_time()

    def _full(self) -> bool:
        unread = self.guard.payload - self._read_bytes
        many = len(self.guard.taken) >= UNREAD_MESSAGES
        return not self._discarding and (unread >= UNREAD_BYTES or many)

    async def wait_message(self) -> None:
        """Wait until a message has come, or none will."""
        await trio.lowlevel.checkpoint()
        while not (self.guard.taken or self._over):
            self._news = trio.Event()
            await self._news.wait()

    def take(self, most: int) -> tuple[bytes, ...]:
        """The messages that have come, oldest first, at most so many."""
        taken = self.guard.taken
        messages = tuple(taken[:most])
        del taken[:most]
        self._read_bytes += sum(map(len, messages))
        self.meter.frames_in += len(messages)
        if self.stalled and not self._full():
            self._room.set()
        return messages

    def finish(self) -> None:
        """No more messages come: whoever waits for one need not."""
        self._over = True
        self._news.set()

    # going out

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """The library's own writes: the upgrade, pongs, the close."""
        await self._take_turn()
        try:
            if bytes(data[:1]) == _CLOSE_BYTE:
                self.close_sent = True
            await self._put_soon(data)
        finally:
            self._lock.release()

    async def write(self, data: bytes | bytearray | memoryview, frames: int) -> None:
        """Write whole messages, between other writes; none of `frames` is one of control frames.

        Raises: `trio.BrokenResourceError`, `trio.ClosedResourceError`. Cancelled while it waits
        its turn, nothing was sent; cancelled after, the stream ends.
        """
        await self._take_turn()
        try:
            if self.close_sent or self.fault is not None:
                raise trio.ClosedResourceError("the link has ended")
            await (self._put(data) if frames else self._put_soon(data))
            self.meter.frames_out += frames
        finally:
            self._lock.release()

    def begin(self, data: bytes | bytearray, frames: int) -> Awaitable[None] | None:
        """As `write`, as far as that takes no wait; see `Link.begin`."""
        if self.close_sent or self.fault is not None or self._torn or self.piece is not None:
            return self.write(data, frames)
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            return self.write(data, frames)
        taken = write_at_once(self.transport, data)
        self.meter.sent(0, taken)
        if taken < len(data):
            return self._write_rest(memoryview(data)[taken:], frames)
        self._lock.release()
        self.meter.frames_out += frames
        return None

    async def _write_rest(self, data: memoryview, frames: int) -> None:
        try:
            await self._put(data)
            self.meter.frames_out += frames
        finally:
            self._lock.release()

    async def _take_turn(self) -> None:
        try:
            self._lock.acquire_nowait()  # without giving way to other tasks, as `acquire` does
        except trio.WouldBlock:
            await self._lock.acquire()

    async def _put_soon(self, data: bytes | bytearray | memoryview) -> None:
        """As `_put`, for a control frame: nobody else bounds how long its write may take."""
        with trio.move_on_after(self._control_within) as scope:
            await self._put(data, "the peer did not take a control frame")
        if scope.cancelled_caught:
            raise trio.BrokenResourceError("the peer did not take a control frame in time")

    async def _put(
        self,
        data: bytes | bytearray | memoryview,
        cut: str = "a write was cut in the middle of a frame",
    ) -> None:
        if self._torn:
            raise trio.ClosedResourceError("the link has ended")
        try:
            step = self.piece or max(1, len(data))
            for at in range(0, len(data), step):
                await self.transport.send_all(data[at : at + step])
        except trio.Cancelled:
            # Nobody knows how much of it went out, and what came next would be read as its rest.
            self.fail(cut)
            await self.drop()
            raise
        self.meter.sent(0, len(data))

    async def wait_send_all_might_not_block(self) -> None:
        await self.transport.wait_send_all_might_not_block()

    # the end

    def fail(self, text: str, code: int | None = None) -> None:
        """Note why the link is broken; the first reason stays."""
        if self.fault is None:
            self.fault = Fault(text, code)

    async def aclose(self) -> None:
        """The library is done. The socket stays open: its owner closes it, after a last frame
        where one is due."""
        self.ended.set()
        await trio.lowlevel.checkpoint()

    async def drop(self) -> None:
        """Close the socket, now."""
        self._torn = True
        self.ended.set()
        with trio.CancelScope(shield=True):
            await trio.aclose_forcefully(self.transport)
