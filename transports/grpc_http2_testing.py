"""For tests of what HTTP/2 says: frames as bytes, right or wrong, a transport that keeps what is
written to it, and what a connection makes of frames. A library of HTTP/2 would write nothing that
is wrong."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from h2.errors import ErrorCodes
from hpack import Encoder
from hyperframe.frame import Frame, GoAwayFrame, PingFrame, RstStreamFrame

DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RST: Final = 3
SETTINGS: Final = 4
PUSH: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW: Final = 8
CONTINUATION: Final = 9
"""Types of frames (RFC 9113, section 6)."""

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITIZED: Final = 0x20
"""Their flags."""

BIGGEST: Final = 2**31 - 1
"""Bytes of the largest window."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"", length: int = -1) -> bytes:
    """One frame. `length`: what it says of its payload; -1: the truth."""
    size = len(payload) if length < 0 else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def fields(*pairs: tuple[str, str]) -> bytes:
    """A block of headers, in the order given. It leaves the table of names alone."""
    block: bytes = Encoder().encode([(*pair, True) for pair in pairs])
    return block


def setting(*pairs: tuple[int, int]) -> bytes:
    """A frame of settings, by their numbers."""
    words = (name.to_bytes(2, "big") + value.to_bytes(4, "big") for name, value in pairs)
    return frame(SETTINGS, 0, 0, b"".join(words))


def window(stream: int, size: int) -> bytes:
    """Room for so many bytes more."""
    return frame(WINDOW, 0, stream, size.to_bytes(4, "big"))


class Wire(asyncio.Transport):
    """A transport that takes what is written, and holds it for a test."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """It has none."""

    def get_write_buffer_size(self) -> int:
        """Nothing waits."""
        return 0

    def write(self, data: Any) -> None:
        """Take it."""
        self.written += data

    def is_closing(self) -> bool:
        """Whether it was closed, in whichever way."""
        return self.closed

    def close(self) -> None:
        """No more comes."""
        self.closed = True

    def abort(self) -> None:
        """The same."""
        self.closed = True

    def frames(self) -> list[Frame]:
        """What was written, frame by frame."""
        found: list[Frame] = []
        rest = memoryview(self.written)
        while rest:
            made, size = Frame.parse_frame_header(rest[:9])
            made.parse_body(rest[9 : 9 + size])
            found.append(made)
            rest = rest[9 + size :]
        return found


def made_of(
    connection: asyncio.Protocol, wire: Wire, *inputs: bytes
) -> tuple[str, ErrorCodes | None]:
    """What a connection that writes to `wire` makes of these bytes. ("goes on", None): it answers a
    ping behind them; ("reset", code): it does, and has cut a call; ("ended", code): it has closed
    the connection, behind a GOAWAY with this code, or with None behind nothing."""
    for each in inputs:
        connection.data_received(each)
    if not wire.closed:
        connection.data_received(frame(PING, 0, 0, b"are you "))
    frames = wire.frames()
    gone = [each for each in frames if isinstance(each, GoAwayFrame)]
    if gone or wire.closed:
        assert wire.closed
        return "ended", ErrorCodes(gone[0].error_code) if gone else None
    pongs = [each for each in frames if isinstance(each, PingFrame) and "ACK" in each.flags]
    assert [each.opaque_data for each in pongs][-1:] == [b"are you "]
    cut = [each for each in frames if isinstance(each, RstStreamFrame)]
    return ("reset", ErrorCodes(cut[0].error_code)) if cut else ("goes on", None)
