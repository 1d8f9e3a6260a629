"""Framings: a stream of bytes into frames and back. No I/O.

A limit counts the bytes of the frame as it is handed up, in every framing, so that one limit
holds for a protocol however it is carried. It is enforced on the announced length, before
anything of the frame is kept, and on what is sent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Final

from fleetgate.transports.api import FrameRefused, FrameTooLong


class FramingError(ValueError):
    """What came is no frame. `frames` are those that came whole before it in the same call;
    `too_long`: it would be one, but for the limit."""

    def __init__(
        self, message: str, frames: tuple[bytes, ...] = (), *, too_long: bool = False
    ) -> None:
        super().__init__(message)
        self.frames = frames
        self.too_long = too_long


class Framer(ABC):
    """One end of one stream."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    @abstractmethod
    def feed(self, data: bytes | bytearray) -> list[bytes]:
        """Take in bytes, in pieces of any size; hand up the frames that are whole now.

        Raises: `FramingError`, with the frames that came before the fault, and again at every
        later call.
        """

    @abstractmethod
    def eof(self) -> None:
        """The stream has ended. Raises: `FramingError` where that was inside a frame."""

    @abstractmethod
    def encode(self, frame: bytes) -> bytes:
        """The frame as it goes on the stream.

        Raises: `FrameTooLong`, `FrameRefused`. Neither changes anything.
        """

    @property
    @abstractmethod
    def form(self) -> Hashable:
        """All that `encode` depends on beside the frame.

        Raises: `FrameRefused`: nothing can be sent yet.
        """

    @property
    @abstractmethod
    def buffered(self) -> int:
        """Bytes kept of a frame that is not whole yet: at most the limit, a prefix and what one
        `feed` brought."""


class _Buffered(Framer):
    """A framing that keeps what is not whole yet."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._buffer = bytearray()
        self._fault: str | None = None
        self._beyond = False

    def feed(self, data: bytes | bytearray) -> list[bytes]:
        if self._fault is not None:
            raise FramingError(self._fault, too_long=self._beyond)
        self._buffer += data
        frames: list[bytes] = []
        try:
            self._split(frames)
        except FramingError as error:
            self._fault, self._beyond = str(error), error.too_long
            self._buffer = bytearray()
            raise FramingError(self._fault, tuple(frames), too_long=self._beyond) from None
        return frames

    def eof(self) -> None:
        if self._fault is None and self._buffer:
            self._fault = "the stream ended in the middle of a frame"
        if self._fault is not None:
            raise FramingError(self._fault)

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    @property
    def form(self) -> Hashable:
        return type(self), self.limit

    def encode(self, frame: bytes) -> bytes:
        if len(frame) > self.limit:
            raise FrameTooLong(f"a frame of {len(frame)} bytes; the limit is {self.limit}")
        return self._dress(frame)

    @abstractmethod
    def _split(self, frames: list[bytes]) -> None:
        """Move whole frames from the buffer to `frames`."""

    @abstractmethod
    def _dress(self, frame: bytes) -> bytes: ...

    def _too_long(self, length: int | str) -> FramingError:
        said = f"a frame of {length} bytes came; the limit is {self.limit}"
        return FramingError(said, too_long=True)


class _Prefixed(_Buffered):
    """A length, then that many bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._wanted = 1
        """Bytes that must be there before looking again is worth while."""

    def _split(self, frames: list[bytes]) -> None:
        buffer, at = self._buffer, 0
        if len(buffer) < self._wanted:
            return
        try:
            with memoryview(buffer) as view:
                while (found := self._prefix(view, at)) is not None:
                    start, length = found
                    if len(buffer) < start + length:
                        self._wanted = start + length - at
                        break
                    frames.append(bytes(view[start : start + length]))
                    at = start + length
                else:
                    self._wanted = len(buffer) - at + 1
        finally:
            del buffer[:at]

    @abstractmethod
    def _prefix(self, view: memoryview, at: int) -> tuple[int, int] | None:
        """Where the frame whose prefix is at `at` starts, and its length. None: the prefix is not
        whole. Raises: `FramingError`."""


class KindFramer(_Prefixed):
    """Four bytes of length, big end first, then one byte of kind and the payload; the length
    counts the kind byte. The frame handed up is the kind byte and the payload."""

    def _prefix(self, view: memoryview, at: int) -> tuple[int, int] | None:
        if len(view) - at < 4:
            return None
        length = int.from_bytes(view[at : at + 4], "big")
        if length == 0:
            raise FramingError("empty frame: the length must count the kind byte")
        if length > self.limit:
            raise self._too_long(length)
        return at + 4, length

    def _dress(self, frame: bytes) -> bytes:
        if not frame:
            raise FrameRefused("a frame of this framing starts with its kind byte")
        return len(frame).to_bytes(4, "big") + frame


_VARINT_BYTES: Final = 5
"""A length of 32 bits takes no more; protobuf's own limit on a message is 2 GiB."""


class VarintFramer(_Prefixed):
    """A protobuf varint of the length, then the message: protobuf's delimited format."""

    def _prefix(self, view: memoryview, at: int) -> tuple[int, int] | None:
        length = shift = 0
        for index in range(at, min(at + _VARINT_BYTES, len(view))):
            byte = view[index]
            length |= (byte & 0x7F) << shift
            if length > self.limit:
                raise self._too_long(length)
            if byte < 0x80:
                return index + 1, length
            shift += 7
        if shift == 7 * _VARINT_BYTES:
            raise FramingError(f"a length prefix is at most {_VARINT_BYTES} bytes")
        return None

    def _dress(self, frame: bytes) -> bytes:
        prefix, rest = bytearray(), len(frame)
        while rest >= 0x80:
            prefix.append(rest & 0x7F | 0x80)
            rest >>= 7
        prefix.append(rest)
        return bytes(prefix) + frame


class TextLinesFramer(_Buffered):
    """One frame a line, without its newline. For front ends: any bytes but a newline."""

    _lead: bytes = b""
    """What is put before the line to make the frame."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._seen = 0
        """Bytes of the buffer that hold no newline."""

    def _split(self, frames: list[bytes]) -> None:
        buffer, longest, at = self._buffer, self.limit - len(self._lead), 0
        try:
            while (end := buffer.find(b"\n", self._seen)) >= 0:
                if end - at > longest:
                    raise self._too_long(len(self._lead) + end - at)
                frames.append(self._lead + buffer[at:end])
                at = self._seen = end + 1
            if len(buffer) - at > longest:
                raise self._too_long(f"more than {self.limit}")
        finally:
            del buffer[:at]
            self._seen = len(buffer)

    def _dress(self, frame: bytes) -> bytes:
        if b"\n" in frame:
            raise FrameRefused("a frame of this framing is one line: it cannot hold a newline")
        return frame + b"\n"


class LinesFramer(TextLinesFramer):
    """One text a line, made to look like `kind` frames: the frame handed up is the byte 0 and
    the line, and only frames that start with the byte 0 can be sent."""

    _lead = b"\x00"

    def _dress(self, frame: bytes) -> bytes:
        if frame[:1] != self._lead:
            raise FrameRefused("lines carry text frames only: the first byte must be 0")
        return super()._dress(frame[1:])


class KindOrLinesFramer(Framer):
    """`kind` or `lines`, as the peer's first byte says: `{` is the start of a line, all else is
    a `kind` prefix (0 the only sensible one). Answers go out in kind. Until that byte has come
    nothing can be sent: it is for the side that is spoken to first."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._chosen: Framer | None = None

    def feed(self, data: bytes | bytearray) -> list[bytes]:
        if self._chosen is None:
            if not data:
                return []
            lines = data[:1] == b"{"
            self._chosen = LinesFramer(self.limit) if lines else KindFramer(self.limit)
        return self._chosen.feed(data)

    def eof(self) -> None:
        if self._chosen is not None:
            self._chosen.eof()

    @property
    def buffered(self) -> int:
        return 0 if self._chosen is None else self._chosen.buffered

    @property
    def form(self) -> Hashable:
        return self._known().form

    def encode(self, frame: bytes) -> bytes:
        return self._known().encode(frame)

    def _known(self) -> Framer:
        if self._chosen is None:
            raise FrameRefused("the peer has not spoken yet, so its framing is not known")
        return self._chosen


FRAMINGS: Final[Mapping[str, Callable[[int], Framer]]] = MappingProxyType(
    {
        "kind": KindFramer,
        "varint": VarintFramer,
        "lines": LinesFramer,
        "text_lines": TextLinesFramer,
        "kind_or_lines": KindOrLinesFramer,
    }
)
"""Framings by name; each is made with its limit in bytes."""


def make_framer(name: str, limit: int) -> Framer:
    """A new framer. Raises: `KeyError` where no framing has that name."""
    return FRAMINGS[name](limit)
