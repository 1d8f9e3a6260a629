"""A link over one call: what both ends of it have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Final

import attrs
import trio
from h2.errors import ErrorCodes

from fleetgate.transports.api import (
    FrameRefused,
    FrameTooLong,
    GrpcMethod,
    LinkBroken,
    LinkStatistics,
    Opening,
    Options,
)
from fleetgate.transports.backlog import BatchedLink
from fleetgate.transports.grpc_call import Call
from fleetgate.transports.grpc_connection import HELD, GrpcConnection
from fleetgate.transports.grpc_http2 import STREAM_WINDOW
from fleetgate.transports.grpc_messages import PREFIX, MessageFault, Messages, prefixed
from fleetgate.transports.grpc_status import INTERNAL, OK, RESOURCE_EXHAUSTED
from fleetgate.transports.meter import Meter
from fleetgate.transports.stream import coalesce

UNREAD: Final = 64 * 1024
"""Bytes of whole messages that may lie unread before the window of their call stays shut."""

RETURN: Final = STREAM_WINDOW // 4
"""Bytes of a window that are given back together: seldom enough to cost nothing, and before the
peer has to wait."""


@attrs.frozen(slots=True)
class End:
    """Why nothing more comes, or goes. Each raise gets an error of its own."""

    text: str | None
    """None: the peer ended it in order."""
    code: int = OK
    final: bool = False
    no_frame: bool = False
    reason: str = ""
    """The peer's own words beside the status."""

    def error(self) -> LinkBroken | trio.EndOfChannel:
        """What a receiver gets."""
        return trio.EndOfChannel() if self.text is None else self.broken()

    def broken(self) -> LinkBroken:
        """What a sender gets."""
        text = self.text or "the peer has ended it"
        return LinkBroken(
            text, self.code, final=self.final, no_frame=self.no_frame, reason=self.reason
        )


class GrpcLink(BatchedLink, Call):
    """Frames are the messages of one call.

    Bytes are given back to the peer as long as few whole messages lie unread; those of a message
    that is not whole count for nothing, since nobody can read it before its rest has come.
    """

    speaks_status = True

    def __init__(
        self,
        connection: GrpcConnection,
        stream_id: int,
        method: GrpcMethod,
        opening: Opening,
        options: Options,
    ) -> None:
        super().__init__()
        self.opening = opening
        self.id = stream_id
        self._connection = connection
        self._method = method
        self._options = options
        self._messages = Messages(options.limit)
        self._inbox: deque[bytes] = deque()
        self._unread = 0
        self._owed = 0
        self._held = 0
        self._counted = 0
        self._end: End | None = None
        self._over: End | None = None
        self._peer_ended = False
        self._sent = 0
        self._meter = Meter()
        self._receiving = False
        self._arrived = trio.Event()
        self._room = trio.Event()
        self._writing: trio.Event | None = None
        self._parting = trio.CancelScope()
        self._dropped = False
        self._closed = trio.Event()

    # --- told by the connection

    def on_data(self, data: bytes, size: int) -> None:
        if self._end is not None or self._dropped:
            return
        frames: Sequence[bytes]
        try:
            frames = self._messages.feed(data)
        except MessageFault as fault:
            frames = fault.messages
            self._refuse(str(fault), fault.status, no_frame=True)
        self._meter.received(len(frames), size)
        self._inbox.extend(frames)
        self._counted += len(frames)
        self._unread += sum(map(len, frames)) + PREFIX * len(frames)
        self._owed += size
        self._hold()
        if self._connection.held > HELD and self._end is None:
            self._refuse("too much lies unread on this connection", RESOURCE_EXHAUSTED)
        self._give_back()
        if frames:
            self._arrived.set()

    def _hold(self) -> None:
        held = self._unread + self._messages.held
        self._connection.held += held - self._held
        self._held = held

    def _give_back(self) -> None:
        if self._unread > UNREAD or self._owed < RETURN or self._peer_ended:
            return
        if self._end is None and self._over is None:
            self._connection.give_back(self.id, self._owed)
            self._owed = 0

    def on_end(self) -> None:
        self._peer_ended = True
        try:
            self._messages.eof()
        except MessageFault as fault:
            self._refuse(str(fault), fault.status, no_frame=True)
        self._hold()

    def on_malformed(self) -> None:
        self._finish(End("the peer's headers are none of HTTP/2", INTERNAL))

    def on_lost(self, reason: str) -> None:
        self._finish(End(reason, self._lost_code))

    def on_room(self) -> None:
        self._connection.waiting.discard(self)
        self._room.set()

    _lost_code: int

    @abstractmethod
    def _refuse(self, text: str, status: int, *, no_frame: bool = False) -> None:
        """What came is no message that can be taken: nothing more of it is. The call ends with
        this status."""

    def _stop(self, end: End) -> None:
        """Nothing more is received, behind what lies here."""
        if self._end is None:
            self._end = end
        self._arrived.set()

    def _finish(self, end: End) -> None:
        """The call is over: nothing more is received or sent."""
        if self._over is None:
            self._over = end
        self._stop(end)
        self._room.set()

    # --- receiving

    async def _fetch(self) -> Sequence[bytes]:
        if self._receiving:
            raise trio.BusyResourceError("another task receives from this link")
        await trio.lowlevel.checkpoint()
        self._check_open()
        self._receiving = True
        try:
            while not self._inbox:
                if self._end is not None:
                    raise self._end.error()
                self._arrived = trio.Event()
                await self._arrived.wait()
                self._check_open()
        finally:
            self._receiving = False
        frames = tuple(self._inbox)
        self._clear()
        self._give_back()
        return frames

    async def wait_over(self) -> None:
        """Wait until nothing more can be received or sent. For whoever expects no message."""
        while self._over is None and not self._closing:
            self._arrived = trio.Event()
            await self._arrived.wait()

    def _clear(self) -> None:
        self._inbox.clear()
        self._unread = 0
        self._hold()

    # --- sending

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._writing is not None:
            raise trio.BusyResourceError("another task sends on this link")
        self._check_sendable()
        self._check_frames(frames)
        self._writing = trio.Event()
        try:
            for count, chunk in coalesce([prefixed(frame) for frame in frames]):
                self._check_sendable()
                await self._write(chunk)
                self._meter.sent(count, len(chunk))
            await trio.lowlevel.cancel_shielded_checkpoint()
        finally:
            self._writing.set()
            self._writing = None

    def _check_sendable(self) -> None:
        self._check_open()
        if self._over is not None:
            raise self._over.broken()

    def _check_frames(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            if len(frame) > self._options.limit:
                raise FrameTooLong(
                    f"a frame of {len(frame)} bytes is above the limit of {self._options.limit}"
                )
        if self._streams:
            return
        if self._sent + len(frames) > 1:
            raise FrameRefused("this call carries one message this way, and no more")
        self._sent += len(frames)

    @property
    @abstractmethod
    def _streams(self) -> bool:
        """Whether this end sends any number of messages."""

    async def _write(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        at = 0
        while at < len(chunk):
            room = self._connection.room(self.id)
            if room <= 0:
                await self._wait_room(torn=at > 0)
                continue
            piece = bytes(view[at : at + room])
            at += len(piece)
            self._send_piece(piece, last=at == len(chunk))
            if at < len(chunk):
                await trio.lowlevel.cancel_shielded_checkpoint()
                self._check_going()

    @abstractmethod
    def _send_piece(self, piece: bytes, last: bool) -> None:
        """Send a part of a chunk; `last`: its end."""

    async def _wait_room(self, torn: bool) -> None:
        self._room = trio.Event()
        self._connection.waiting.add(self)
        try:
            await self._room.wait()
        except trio.Cancelled:
            # Behind half a message nothing else can follow.
            if torn:
                self._cut("a write was cut in the middle of a frame")
            raise
        finally:
            self._connection.waiting.discard(self)
        self._check_going()

    def _check_going(self) -> None:
        """In the middle of a chunk: it is finished though `close` was called, but no longer than
        that waits for it."""
        if self._dropped:
            self._check_open()
        if self._over is not None:
            raise self._over.broken()

    def _cut(self, reason: str) -> None:
        if self._over is None:
            self._reset(ErrorCodes.CANCEL)
            self._finish(End(reason))

    def _reset(self, error: int) -> None:
        self._connection.reset(self.id, error)
        self._connection.forget(self)

    # --- closing

    async def close(self, code: int | None, reason: str = "") -> None:
        if self._closing:
            if code is None:
                self._parting.cancel()
            await self._closed.wait()
            return
        self._closing = True
        self._arrived.set()
        try:
            if code is not None and self._over is None:
                self._parting.deadline = trio.current_time() + self._options.close_timeout
                with self._parting:
                    await self._part(code, reason)
                if self._parting.cancelled_caught and self._over is None:
                    self._give_up(code, reason)
            else:
                await trio.lowlevel.checkpoint()
        finally:
            self._drop()
            self._closed.set()

    async def _part(self, code: int, reason: str) -> None:
        if self._writing is not None:
            await self._writing.wait()
        if self._over is None:
            await self._say_end(code, reason)

    @abstractmethod
    async def _say_end(self, code: int, reason: str) -> None:
        """Tell the peer that, or how, it ends."""

    def _give_up(self, code: int, reason: str) -> None:
        """The peer has not taken what was being sent: what there is to say without it."""

    async def _wait_drained(self) -> None:
        while not (self._connection.drained or self._connection.lost.is_set()):
            self._room = trio.Event()
            self._connection.waiting.add(self)
            await self._room.wait()

    def _drop(self) -> None:
        self._dropped = True
        if self._over is None:
            self._cut("the link was closed here")
        self._connection.forget(self)
        self._inbox.clear()
        self._messages = Messages(0)
        self._unread = 0
        self._hold()
        self._room.set()

    def statistics(self) -> LinkStatistics:
        return self._meter.snapshot()
