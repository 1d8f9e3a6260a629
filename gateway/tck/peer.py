"""One link to the target, as a requirement speaks on it: send, receive, expect its end.

Every wait has a bound; what does not come in time, or comes and should not, is `Unmet`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, Protocol, runtime_checkable

import attrs
import trio

from fleetgate.gateway.tck.seen import Seen, Show, shown
from fleetgate.transports.api import FrameRefused, Link, LinkBroken
from fleetgate.transports.faults import Trickling
from fleetgate.transports.websocket_guard import Pings

_PEER_CLOSED: Final = "the peer closed"
"""How a link's error begins where the code in it is the peer's."""


class Unmet(Exception):
    """The target broke the requirement: what was expected, and what came."""

    def __init__(self, expected: str, came: str) -> None:
        super().__init__(f"expected {expected}; {came}")


class Skipped(Exception):
    """Whether the target keeps the requirement cannot be told; the text says what is missing."""


class CannotStart(Exception):
    """The command that starts the target cannot be run: no requirement can be tried. The text
    names it, and what to do."""


class Elsewhere(Skipped):
    """The requirement is about another carriage than the target's: nothing of it is missing."""


@runtime_checkable
class TwoKinds(Protocol):
    """A link whose carriage tells text from binary."""

    async def send_other(self, frame: bytes) -> None:
        """Send a message of the kind that the link is not made of."""
        ...


@runtime_checkable
class Pinged(Protocol):
    """A link whose carriage has pings."""

    @property
    def pings(self) -> Pings:
        """Those of the other end."""
        ...


@attrs.frozen(slots=True)
class Patience:
    """How long an attempt waits, in seconds."""

    within: float = 10.0
    """For an answer, and for the target to read."""
    quiet: float = 0.3
    """In which nothing must come, where nothing must come."""
    arrive: float = 45.0
    """For a target that dials, or that was started just now. Longer than the longest pause that a
    protocol has it make."""
    whole: float = 120.0
    """For one requirement."""


@attrs.frozen(slots=True)
class End:
    """How a link ended. `code`: the peer's close code, where it sent one. `stray`: bytes came
    that are no frame. `status`: of gRPC, where the link was a call."""

    text: str
    code: int | None = None
    stray: bool = False
    status: int | None = None


class Peer:
    """One end of one link, held by the kit. Protocols add their own words to it."""

    def __init__(self, link: Link, seen: Seen, patience: Patience, show: Show, number: int) -> None:
        self.link = link
        self.patience = patience
        self._seen = seen
        self._show = show
        self._number = number
        self._end: End | None = None
        self.last = ""
        """The frame that came last, for people."""

    async def send(self, *frames: bytes) -> None:
        """Send frames in one go. That the target has closed is for the next receive to say."""
        for frame in frames:
            self._seen.add(self._number, True, self._show(frame, True))
        with trio.move_on_after(self.patience.within) as scope, suppress(LinkBroken):
            try:
                await self.link.send_some(frames)
            except FrameRefused as error:
                raise Elsewhere(f"this carriage has no form for the frame: {error}") from None
        if scope.cancelled_caught:
            raise Unmet("that the target reads", f"it read nothing for {self._seconds()} s")

    async def send_other(self, frame: bytes) -> None:
        """Send a message of the kind that the protocol is not made of: binary where it is text.

        Raises: `Elsewhere` where the carriage has no kinds.
        """
        if not isinstance(self.link, TwoKinds):
            raise Elsewhere("only WebSocket has two kinds of messages")
        self._seen.add(self._number, True, f"a message of the other kind: {shown(frame)}")
        with suppress(LinkBroken):
            await self.link.send_other(frame)

    async def next(self, within: float | None = None) -> bytes | End | None:
        """The next frame, or the link's end; None: neither came in time."""
        if self._end is not None:
            return self._end
        before = self.link.statistics().bytes_in
        with trio.move_on_after(self.patience.within if within is None else within):
            try:
                frame = await self.link.receive()
            except trio.EndOfChannel:
                ok = 0 if self.link.speaks_status else None
                self._end = End("the target closed the link", 1000, status=ok)
            except LinkBroken as error:
                grew = self.link.statistics().bytes_in > before
                self._end = _end(error, grew, self.link.speaks_status)
            else:
                self.last = self._show(frame, False)
                self._seen.add(self._number, False, self.last)
                return frame
            self._seen.add(self._number, False, self._end.text, note=True)
            return self._end
        return None

    async def receive(self, expected: str) -> bytes:
        """The next frame, where `expected` must come."""
        came = await self.next()
        if isinstance(came, bytes):
            return came
        raise Unmet(expected, self._nothing(came))

    async def expect_end(self, codes: tuple[int, ...] = ()) -> End:
        """The link must end now, without another frame. `codes`: with one of these close codes,
        where the carriage has them."""
        came = await self.next()
        if isinstance(came, bytes):
            raise Unmet("the end of the link", f"a frame came: {self.last[:300]}")
        if came is None:
            raise Unmet("the end of the link", self._nothing(came))
        if came.stray:
            raise Unmet("the end of the link and nothing else", f"stray bytes came: {came.text}")
        if codes and came.code not in codes:
            wanted = " or ".join(map(str, codes))
            raise Unmet(f"the end with code {wanted}", f"it was {came.code}: {came.text}")
        return came

    async def expect_quiet(self, expected: str = "nothing") -> None:
        """Nothing must come for a while, and the link must stay."""
        came = await self.next(self.patience.quiet)
        if isinstance(came, bytes):
            raise Unmet(expected, f"a frame came: {self.last[:300]}")
        if came is not None:
            raise Unmet(f"{expected}, and that the link stays", came.text)

    @property
    def pings(self) -> Pings:
        """The target's, which the kit may leave unanswered.

        Raises: `Elsewhere` where the carriage has none.
        """
        if not isinstance(self.link, Pinged):
            raise Elsewhere("only WebSocket has pings")
        return self.link.pings

    def trickle(self, piece: int) -> None:
        """Send, and read, at most `piece` bytes at a time from here on.

        Raises: `Elsewhere` where the carriage brings whole frames.
        """
        if not isinstance(self.link, Trickling):
            raise Elsewhere("this carriage brings whole frames")
        self.link.trickle(piece)

    async def close(self, code: int | None = 1000) -> None:
        """Leave. None: without a word."""
        self._seen.add(self._number, True, "the kit closed the link", note=True)
        with trio.move_on_after(self.patience.within):
            await self.link.close(code)

    def _nothing(self, came: End | None) -> str:
        return f"nothing came for {self._seconds()} s" if came is None else came.text

    def _seconds(self) -> str:
        return f"{self.patience.within:g}"


class RawPeer:
    """A byte stream to the target, for what is no frame."""

    def __init__(
        self, stream: trio.abc.Stream, seen: Seen, patience: Patience, number: int
    ) -> None:
        self._stream = stream
        self._seen = seen
        self._patience = patience
        self._number = number

    async def send(self, data: bytes) -> None:
        """Put bytes on the wire. That the target has closed is for the next read to say."""
        self._seen.add(self._number, True, shown(data))
        with trio.move_on_after(self._patience.within) as scope, suppress(trio.BrokenResourceError):
            await self._stream.send_all(data)
        if scope.cancelled_caught:
            raise Unmet("that the target reads", f"it read nothing for {self._patience.within:g} s")

    async def finish(self) -> None:
        """Say that no more comes, and go on reading."""
        if not isinstance(self._stream, trio.abc.HalfCloseableStream):
            raise Elsewhere("this carriage cannot be closed in one direction")
        self._seen.add(self._number, True, "the kit sends no more", note=True)
        with suppress(trio.BrokenResourceError):
            await self._stream.send_eof()

    async def rest(self, most: int = 1 << 20) -> bytes:
        """All that comes until the target closes, which it must. A socket closed with bytes unread
        is reset, and that is an end as well."""
        data = b""
        within = self._patience.within
        with trio.move_on_after(within) as scope, suppress(trio.BrokenResourceError):
            while more := await self._stream.receive_some():
                self._seen.add(self._number, False, shown(bytes(more)))
                data += more
                if len(data) > most:
                    raise Unmet("the end of the link", f"more than {most} bytes came")
        if scope.cancelled_caught:
            text = f"it was open after {within:g} s, and {len(data)} bytes had come"
            raise Unmet("the end of the link", text)
        self._seen.add(self._number, False, "the target closed the link", note=True)
        return data

    async def through(self, end: bytes, most: int = 1 << 16) -> bytes:
        """All that comes up to `end`, and what came in one piece with it."""
        data = b""
        with trio.move_on_after(self._patience.within), suppress(trio.BrokenResourceError):
            while end not in data and (more := await self._stream.receive_some()):
                self._seen.add(self._number, False, shown(bytes(more)))
                data += more
                if len(data) > most:
                    break
        if end not in data:
            raise Unmet(f"{shown(end)} within {most} bytes", f"{len(data)} bytes came without it")
        return data

    async def some(self, size: int) -> bytes:
        """The next `size` bytes."""
        data = b""
        with trio.move_on_after(self._patience.within), suppress(trio.BrokenResourceError):
            while len(data) < size and (more := await self._stream.receive_some(size - len(data))):
                self._seen.add(self._number, False, shown(bytes(more)))
                data += more
        if len(data) < size:
            raise Unmet(f"{size} bytes", f"{len(data)} came within {self._patience.within:g} s")
        return data


def _end(error: LinkBroken, grew: bool, speaks_status: bool) -> End:
    """Bytes before the end of a stream, and no close of the peer's: what came is no frame."""
    text = str(error)
    if speaks_status:
        return End(text, status=error.code)
    said = text.startswith(_PEER_CLOSED)
    lost = text.startswith("the connection")
    return End(text, error.code if said else None, grew and not said and not lost)
