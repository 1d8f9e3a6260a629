"""A link over one WebSocket, and the task that owns it.

The carrier is the only one that opens, closes and drops the connection; the link asks it to. It
lives in a nursery of its own, so that whatever the library raises in its reader ends this link
and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection
from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode

from fleetgate.transports.api import (
    ABNORMAL_CLOSURE,
    FrameRefused,
    FrameTooLong,
    LinkBroken,
    LinkStatistics,
    Opening,
    Options,
    PeerClosed,
    Report,
)
from fleetgate.transports.at_once import finish
from fleetgate.transports.backlog import BatchedLink
from fleetgate.transports.meter import Meter
from fleetgate.transports.serving import first_of, log_report
from fleetgate.transports.stream import READ, coalesce, lost
from fleetgate.transports.websocket_guard import Guard, Pings
from fleetgate.transports.websocket_tap import Tap

BATCH: Final = 256
"""Messages that `receive_some` hands up at most: the driver's outbox sees to others between."""

IN_ORDER: Final = (1000, 1001, 1005)
"""Close codes of an orderly end: normal, going away, none given."""

_LOCAL: Final = {
    1002: "what came is no WebSocket frame",
    1007: "the reason of a close frame is no UTF-8",
}
"""What wsproto finds by itself, and for which the library sends no close frame. wsproto's own
words would hold bytes of the message."""

Upgrade: TypeAlias = Callable[["Carrier", trio.Nursery], Awaitable["WebSocketLink"]]
"""The opening handshake: client's or server's. Starts the library's reader in the nursery."""


STOOD_STILL: Final = 1.0
"""Seconds that a link's clock is late, after which the process has not only been busy: it was
stopped, or its machine was. Each live link would be dropped at once for what nobody could read."""


class Carrier:
    """The one task that owns a connection, from the handshake to the closed socket."""

    def __init__(self, transport: trio.abc.Stream, options: Options, *, client: bool) -> None:
        guard = Guard(
            masked=not client,
            binary=options.binary,
            limit=options.limit,
            any_text=options.any_text,
            drop_other=options.drop_other,
        )
        within = options.write_within
        self.tap = Tap(transport, guard, Meter(), client=client, control_within=within)
        self.options = options
        self.frames = FrameProtocol(client, [])
        """Makes the frames we send ourselves. The library's `send_message` encodes before it takes
        its lock: cancelled in between, it looks open and has lost a message."""
        self.socket: WebSocketConnection | None = None
        """None until the upgrade is over."""
        self.settled = trio.Event()
        """Whatever went wrong is known."""
        self.done = trio.Event()
        """The socket is closed."""
        self._wanted: tuple[int, str | None] | None = None
        self._stop = trio.Event()
        self._abandoned = False
        self._parting = trio.CancelScope()
        self._pinging = False

    async def run(
        self,
        upgrade: Upgrade,
        task_status: trio.TaskStatus[WebSocketLink] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Open, hand out the link, keep it alive, close. Before the link is handed out it raises
        what went wrong, after that nothing."""
        failure: BaseException | None = None
        try:
            async with trio.open_nursery() as nursery:
                link = await upgrade(self, nursery)
                self.socket = link.socket
                task_status.started(link)
                await self._live(link.socket, nursery)
                nursery.cancel_scope.cancel()
        except* Exception as raised:
            failure = first_of(raised)
            self.tap.fail(f"the WebSocket failed: {type(failure).__name__}", 1011)
        finally:
            self.settled.set()
            self.tap.finish()
            await self._end()
        if failure is not None:
            if self.socket is None:
                raise failure
            report: Report = self.options.report or log_report
            report("carrier_failed", failure)

    async def until_ended(self, call: Callable[[], Awaitable[object]]) -> None:
        """Run a part of the handshake, at most until the stream ends: the library would wait for
        ever. Raises: `LinkBroken`."""
        finished = False
        async with trio.open_nursery() as race:
            race.start_soon(self._cancel_at_end, race.cancel_scope)
            await call()
            finished = True
            race.cancel_scope.cancel()
        if not finished:
            fault = self.tap.fault
            raise LinkBroken(fault.text if fault else "the peer ended the upgrade")

    async def _cancel_at_end(self, scope: trio.CancelScope) -> None:
        await self.tap.ended.wait()
        scope.cancel()

    # while it is open

    async def _live(self, socket: WebSocketConnection, nursery: trio.Nursery) -> None:
        nursery.start_soon(self._stop_at_end)
        nursery.start_soon(self._until_closed, socket)
        nursery.start_soon(self._keep_alive, nursery)
        await self._stop.wait()
        if self._wanted is not None and not self._abandoned and not self.tap.ended.is_set():
            self.tap.discard()
            with self._bounded():
                await socket.aclose(*self._wanted)

    async def _until_closed(self, socket: WebSocketConnection) -> None:
        """The library sees no message, so it has nothing to give out but that it is over."""
        try:
            await socket.get_message()
        except ConnectionClosed:
            self.tap.finish()

    def _bounded(self) -> trio.CancelScope:
        deadline = trio.current_time() + self.options.close_timeout
        self._parting = trio.CancelScope(deadline=deadline)
        return self._parting

    async def _stop_at_end(self) -> None:
        await self.tap.ended.wait()
        self._stop.set()

    async def _keep_alive(self, nursery: trio.Nursery) -> None:
        """Ping, and drop a peer from whom no byte comes: any counts as life, or only a pong, as the
        options say."""
        every, dead_after = self.options.ping_every, self.options.dead_after
        opened = trio.current_time()
        next_ping = opened + every if every is not None else float("inf")
        forgiven = float("-inf")
        while True:
            dies = self._last_sign(opened) + (dead_after or float("inf"))
            due = min(next_ping, dies)
            await trio.sleep_until(due)
            now, alive = trio.current_time(), self._last_sign(opened)
            if dead_after is not None and now >= alive + dead_after:
                if now >= due + STOOD_STILL and alive > forgiven:
                    # It is we who were silent, and what came meanwhile may not be read yet. Once:
                    # a process that is always late would never find a dead peer.
                    forgiven = opened = now
                    next_ping = now if every is not None else next_ping
                    continue
                what = "no pong" if self.options.alive_by_pong else "nothing"
                self.tap.fail(f"{what} came from the peer for {dead_after:g} s")
                self._stop.set()
                return
            if every is not None and now >= next_ping:
                next_ping = now + every
                if not self._pinging:
                    nursery.start_soon(self._ping)

    def _last_sign(self, opened: float) -> float:
        if self.tap.stalled:
            return trio.current_time()  # it is we who are not reading
        sign = self.tap.last_pong if self.options.alive_by_pong else self.tap.meter.last_in
        return max(opened, sign or opened, self.tap.resumed or opened)

    async def _ping(self) -> None:
        """Send one ping. To a peer that does not read, it waits; meanwhile there are no others."""
        self._pinging = True
        try:
            await self.tap.write(self.frames.ping(), 0)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The link is ending; its reader finds out why.
            return
        finally:
            self._pinging = False

    # the end

    def close(self, code: int, reason: str) -> None:
        """Ask for the closing handshake. The first to ask is heard. The code 1005 says none."""
        if self._wanted is None:
            bare = code == CloseReason.NO_STATUS_RCVD
            self._wanted = (CloseReason.NO_STATUS_RCVD, None) if bare else (code, reason)
        self._stop.set()

    def abandon(self) -> None:
        """Ask for the end without a word."""
        self._abandoned = True
        self._stop.set()
        self._parting.cancel()

    async def _end(self) -> None:
        """Send the close frame that is still due, hear the peer out, close the socket."""
        try:
            if not self._abandoned:
                with self._bounded():
                    await self._say_why()
        finally:
            await self.tap.drop()
            self.done.set()

    async def _say_why(self) -> None:
        """A close frame for what the library closes without one, and for what it never saw. Then
        read to the end: a socket closed with bytes unread is reset, and the peer would lose what
        was sent last, be it this frame or the refusal of an upgrade."""
        due = self._due()
        refused = self.socket is None and not self.tap.client and self.tap.meter.bytes_out
        if due is None and not refused:
            return
        try:
            if due is not None:
                await self.tap.send_all(self.frames.close(*due))
            await self._hear_out()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The peer has gone, and needs to be told nothing.
            return

    async def _hear_out(self) -> None:
        transport = self.tap.transport
        if isinstance(transport, trio.abc.HalfCloseableStream):
            await transport.send_eof()
        while await transport.receive_some(READ):
            pass

    def _due(self) -> tuple[int, str] | None:
        if self.socket is None or self.tap.close_sent:
            return None
        fault, closed = self.tap.fault, self.socket.closed
        if fault is not None:
            return (fault.code, fault.text) if fault.code is not None else None
        if closed is not None and closed.code in _LOCAL:
            return closed.code, _LOCAL[closed.code]
        return None

    def why(self) -> LinkBroken | trio.EndOfChannel:
        """How the link ended, for who receives."""
        fault, closed = self.tap.fault, self.socket.closed if self.socket is not None else None
        if fault is not None:
            return LinkBroken(fault.text, fault.code, no_frame=fault.code is not None)
        if closed is None or closed.code == ABNORMAL_CLOSURE:
            return LinkBroken("the connection ended without a closing handshake", ABNORMAL_CLOSURE)
        if not self.tap.guard.peer_closed:
            text, no_frame = _LOCAL.get(closed.code, "the link was closed"), closed.code in _LOCAL
            return LinkBroken(text, closed.code, no_frame=no_frame)
        reason = closed.reason or ""
        if closed.code in IN_ORDER:
            return PeerClosed(closed.code, reason)
        text = f"the peer closed with code {closed.code}: {reason!r}"
        return LinkBroken(text, closed.code, reason=reason)


class WebSocketLink(BatchedLink):
    """One frame a message."""

    def __init__(self, carrier: Carrier, socket: WebSocketConnection, opening: Opening) -> None:
        super().__init__()
        self.opening = opening
        self.socket = socket
        self._carrier = carrier
        self._tap = carrier.tap
        self._options = carrier.options
        self._reading: trio.CancelScope | None = None
        self._writing = False

    def trickle(self, piece: int | None) -> None:
        """Read and write at most `piece` bytes at a time (None: as usual). For tests of peers."""
        self._tap.piece = piece

    @property
    def pings(self) -> Pings:
        """The peer's. For tests of peers."""
        return self._tap.guard.pings

    async def _fetch(self) -> Sequence[bytes]:
        if self._reading is not None:
            raise trio.BusyResourceError("another task receives from this link")
        try:
            with trio.CancelScope() as self._reading:
                await self._tap.wait_message()
        finally:
            self._reading = None
        self._check_open()
        frames = self._tap.take(BATCH)
        if frames:
            return frames
        if self.socket.closed is None:  # the reader died; its owner is about to say of what
            await self._carrier.settled.wait()
        raise self._carrier.why()

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        await finish(self.begin(frames))

    def begin(self, frames: Sequence[bytes]) -> Awaitable[None] | None:
        return self._begin([self._encode(frame) for frame in frames])

    async def send_other(self, frame: bytes) -> None:
        """Send a message of the kind that this link is not made of. For tests of peers."""
        await trio.lowlevel.checkpoint_if_cancelled()
        await finish(self._begin([self._as_kind(frame, binary=not self._options.binary)]))

    def _begin(self, encoded: Sequence[bytearray]) -> Awaitable[None] | None:
        if self._writing:
            raise trio.BusyResourceError("another task sends on this link")
        self._check_sendable()
        chunks = tuple(coalesce(encoded))
        for index, (count, chunk) in enumerate(chunks):
            rest = self._tap.begin(chunk, count)
            if rest is not None:
                return self._send(rest, chunks[index + 1 :])
        return None

    async def _send(
        self, rest: Awaitable[None], chunks: Sequence[tuple[int, bytes | bytearray]]
    ) -> None:
        self._writing = True
        try:
            await rest
            for count, chunk in chunks:
                await self._tap.write(chunk, count)
        except trio.BrokenResourceError as error:
            self._tap.fail(lost(error))
            raise LinkBroken(lost(error)) from error
        except trio.ClosedResourceError:
            self._check_sendable()
            raise LinkBroken("the connection is closed") from None
        finally:
            self._writing = False

    def _check_sendable(self) -> None:
        self._check_open()
        if self._tap.fault is not None or self.socket.closed is not None:
            end = self._carrier.why()
            raise end if isinstance(end, LinkBroken) else LinkBroken("the peer has closed", 1000)

    def _encode(self, frame: bytes) -> bytearray:
        if len(frame) > self._options.limit:
            raise FrameTooLong(f"a frame of {len(frame)} bytes; the limit is {self._options.limit}")
        if self._options.binary:
            return self._carrier.frames.send_data(frame)
        try:
            return self._carrier.frames.send_data(frame.decode())
        except UnicodeDecodeError:
            if not self._options.any_text:
                raise FrameRefused("a text message is UTF-8, the frame is not") from None
        return self._as_kind(frame, binary=False)

    def _as_kind(self, frame: bytes, *, binary: bool) -> bytearray:
        made = self._carrier.frames.send_data(frame)
        if not binary:  # the library makes text of nothing but UTF-8
            made[0] ^= Opcode.BINARY ^ Opcode.TEXT
        return made

    async def close(self, code: int | None, reason: str = "") -> None:
        self._closing = True
        if self._reading is not None:
            self._reading.cancel()
        if code is None:
            self._carrier.abandon()
        else:
            self._carrier.close(code, reason)
        try:
            await self._carrier.done.wait()
        except trio.Cancelled:
            self._carrier.abandon()
            await self._tap.drop()
            raise

    def statistics(self) -> LinkStatistics:
        return self._tap.meter.snapshot()
