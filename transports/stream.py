"""A link over any byte stream: a socket, TLS, pipes."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import Final, TypeVar

import attrs
import trio

from fleetgate.transports.api import LinkBroken, LinkStatistics, Opening, Pack
from fleetgate.transports.at_once import finish, read_some, write_at_once
from fleetgate.transports.backlog import BatchedLink
from fleetgate.transports.framing import Framer, FramingError
from fleetgate.transports.meter import Meter

READ: Final = 64 * 1024
"""Bytes asked for at a time: the size of a pipe, and of what loopback hands over at once."""

CHUNK: Final = 256 * 1024
"""Bytes of small frames that go out together: one system call for many, while what a write needs
beside the frames stays small."""

_UNDER: Final = "the stream was closed under the link"


@attrs.frozen(slots=True)
class _End:
    """Why nothing more comes. Each raise gets an error of its own."""

    text: str | None
    """None: the peer closed in order."""
    too_long: bool | None = None
    """See `LinkBroken`."""

    def error(self) -> LinkBroken | trio.EndOfChannel:
        if self.text is None:
            return trio.EndOfChannel()
        return LinkBroken(self.text, too_long=self.too_long)


Bytes = TypeVar("Bytes", bytes, bytearray)


class StreamLink(BatchedLink):
    """Frames over a stream.

    What is no frame ends the receiving side only: `receive` raises `LinkBroken` from then on,
    and what there is to answer can still be sent before `close`. A close code has no place
    here; any code closes in order.
    """

    def __init__(
        self,
        stream: trio.abc.Stream,
        framer: Framer,
        opening: Opening | None = None,
        *,
        close_timeout: float = 5.0,
        linger: bool = False,
    ) -> None:
        """`linger`: closing in order waits for the peer's end of the stream. A socket that is
        closed with bytes unread resets the connection, and then the peer may never see what
        was sent last."""
        super().__init__()
        self.opening = opening or Opening()
        self._stream = stream
        self._framer = framer
        self._close_timeout = close_timeout
        self._linger = linger
        self._meter = Meter()
        self._piece: int | None = None
        self._end: _End | None = None
        self._torn: str | None = None
        self._reading: trio.CancelScope | None = None
        self._writing: trio.Event | None = None
        self._parting = trio.CancelScope()
        self._closed = trio.Event()

    def trickle(self, piece: int | None) -> None:
        """Read and write at most `piece` bytes at a time (None: as usual). For tests of peers."""
        self._piece = piece

    # receiving

    async def _fetch(self) -> Sequence[bytes]:
        while True:
            if self._end is not None:
                await trio.lowlevel.checkpoint()
                raise self._end.error()
            frames = self._unframe(await self._read())
            if frames:
                return frames

    def _unframe(self, data: bytes | bytearray) -> Sequence[bytes]:
        frames: Sequence[bytes] = ()
        try:
            if data:
                frames = self._framer.feed(data)
            else:
                self._framer.eof()
                self._end = _End(None)
        except FramingError as error:
            frames, self._end = error.frames, _End(str(error), error.too_long)
        self._meter.received(len(frames), len(data))
        return frames

    async def _read(self) -> bytes | bytearray:
        if self._reading is not None:
            raise trio.BusyResourceError("another task receives from this link")
        data: bytes | bytearray = b""
        try:
            with trio.CancelScope() as self._reading:
                data = await read_some(self._stream, self._piece or READ)
        except trio.BrokenResourceError as error:
            self._end = _End(lost(error))
        except trio.ClosedResourceError:
            self._end = _End(self._torn or _UNDER)
        finally:
            self._reading = None
        self._check_open()
        if self._end is not None:
            raise self._end.error()
        return data

    # sending

    async def send_some(self, frames: Sequence[bytes]) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        await finish(self.begin(frames))

    def begin(self, frames: Sequence[bytes]) -> Awaitable[None] | None:
        if self._writing is not None:
            raise trio.BusyResourceError("another task sends on this link")
        self._check_sendable()
        chunks = self._pack(frames) if isinstance(frames, Pack) else self._encode(frames)
        for index, (count, chunk) in enumerate(chunks):
            taken = 0 if self._piece is not None else write_at_once(self._stream, chunk)
            if taken < len(chunk):
                rest = (count, memoryview(chunk)[taken:]) if taken else (count, chunk)
                self._meter.sent(0, taken)
                return self._send([rest, *chunks[index + 1 :]])
            self._meter.sent(count, len(chunk))
        return None

    async def _send(self, chunks: Sequence[tuple[int, bytes | memoryview]]) -> None:
        self._writing = trio.Event()
        try:
            for count, chunk in chunks:
                self._check_sendable()
                await self._write(chunk)
                self._meter.sent(count, len(chunk))
        finally:
            self._writing.set()
            self._writing = None

    def _encode(self, frames: Sequence[bytes]) -> Sequence[tuple[int, bytes]]:
        return tuple(coalesce([self._framer.encode(frame) for frame in frames]))

    def _pack(self, pack: Pack) -> Sequence[tuple[int, bytes]]:
        form = self._framer.form
        if form not in pack.carried:
            pack.carried[form] = self._encode(pack)
        return pack.carried[form]

    def _check_sendable(self) -> None:
        self._check_open()
        if self._torn is not None:
            raise LinkBroken(self._torn)

    async def _write(self, data: bytes | memoryview) -> None:
        try:
            if self._piece is None:
                await self._stream.send_all(data)
                return
            for at in range(0, len(data), self._piece):
                await self._stream.send_all(data[at : at + self._piece])
        except trio.BrokenResourceError as error:
            self._torn = lost(error)
            raise LinkBroken(self._torn) from error
        except trio.ClosedResourceError:
            self._check_open()
            self._torn = self._torn or _UNDER
            raise LinkBroken(self._torn) from None
        except trio.Cancelled:
            # Nobody knows how much of it went out. A second frame behind half a one would be
            # read as its rest, so the stream ends here.
            self._torn = self._torn or "a write was cut in the middle of a frame"
            await self._drop()
            raise

    async def send_eof(self) -> bool:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._writing is not None:
            raise trio.BusyResourceError("another task sends on this link")
        self._check_sendable()
        if not isinstance(self._stream, trio.abc.HalfCloseableStream):
            return False
        try:
            await self._stream.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._torn = lost(error)
            raise LinkBroken(self._torn) from error
        return True

    # closing

    async def close(self, code: int | None, reason: str = "") -> None:
        if self._closing:
            if code is None:
                self._parting.cancel()
            await self._closed.wait()
            return
        self._closing = True
        if self._reading is not None:
            self._reading.cancel()
        try:
            if code is not None and self._torn is None:
                self._parting.deadline = trio.current_time() + self._close_timeout
                with self._parting:
                    await self._part()
        finally:
            await self._drop()
            self._closed.set()

    async def _part(self) -> None:
        """Finish what is being written, say that no more comes, and hear the peer out."""
        if self._writing is not None:
            await self._writing.wait()
        try:
            if not isinstance(self._stream, trio.abc.HalfCloseableStream):
                await self._stream.aclose()
                return
            await self._stream.send_eof()
            if self._linger and (self._end is None or self._end.too_long is not None):
                while self._reading is not None:  # the receiver has been told and leaves now
                    await trio.lowlevel.checkpoint()
                while await self._stream.receive_some(READ):
                    pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # The peer was faster: there is nothing left to close in order.
            return

    async def _drop(self) -> None:
        with trio.CancelScope(shield=True):
            await trio.aclose_forcefully(self._stream)

    def statistics(self) -> LinkStatistics:
        return self._meter.snapshot()


def lost(error: BaseException) -> str:
    """Why a stream broke, in one line. Holds no payload: it is the system's text, or OpenSSL's."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.strerror:
        return f"the connection was lost: {cause.strerror}"
    return "the connection was lost"


def coalesce(encoded: Sequence[Bytes]) -> Iterator[tuple[int, Bytes | bytes]]:
    """Join small frames into chunks, each with the number of its frames."""
    if sum(map(len, encoded)) <= CHUNK:
        if encoded:
            yield len(encoded), _join(encoded)
        return
    start = size = 0
    for index, data in enumerate(encoded):
        if size and size + len(data) > CHUNK:
            yield index - start, _join(encoded[start:index])
            start, size = index, 0
        size += len(data)
    if start < len(encoded):
        yield len(encoded) - start, _join(encoded[start:])


def _join(parts: Sequence[Bytes]) -> Bytes | bytes:
    return parts[0] if len(parts) == 1 else b"".join(parts)
