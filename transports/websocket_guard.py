"""What may come in on a WebSocket: a look at the frame headers, before anything is kept. No I/O.

wsproto decodes and checks; this counts. It knows a message's length when the header has come
and not when the body is in memory, and it sees what the library in between has no limit for:
messages in endless empty fragments.
"""

from __future__ import annotations

from typing import Final

import attrs

FRAGMENTS: Final = 16_384
"""Fragments of one message: 4 MiB in pieces of 256 bytes. Each costs some 60 bytes beside its
payload, so empty ones would be a way to fill our memory for next to nothing."""

_LONGEST_HEADER: Final = 14
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_OPCODES: Final = frozenset((_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG))


@attrs.frozen(slots=True)
class Violation:
    """What the peer did, and the close code for it (RFC 6455 section 7.4.1)."""

    code: int
    text: str


class Guard:
    """Watches the bytes of one direction, from the end of the upgrade on."""

    def __init__(self, *, masked: bool, binary: bool, limit: int) -> None:
        """`masked`: the peer is the client and must mask. `limit`: bytes of a message."""
        self._masked = masked
        self._kind = _BINARY if binary else _TEXT
        self._limit = limit
        self._header = bytearray()
        self._left = 0
        self._opcode = _CONTINUATION
        self._fin = True
        self._fragments = 0
        self._size = 0
        self.messages = 0
        """Messages that have come whole."""
        self.payload = 0
        """Bytes of those messages."""
        self.peer_closed = False
        """A close frame has come."""
        self.violation: Violation | None = None

    def feed(self, data: bytes | bytearray) -> int:
        """Look at the next bytes. Answers how many of them complete frames: the offset behind the
        last one that ends in `data`. Behind a violation nothing is looked at."""
        at = boundary = 0
        while at < len(data) and self.violation is None:
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
            else:
                at = self._read_header(data, at)
                if self._header or self.violation is not None:
                    break
            if not self._left:
                self._finish_frame()
                boundary = at
        return boundary

    def _read_header(self, data: bytes | bytearray, at: int) -> int:
        held = len(self._header)
        self._header += data[at : at + _LONGEST_HEADER - held]
        size = _header_size(self._header)
        if len(self._header) < size:
            return len(data)
        header = bytes(self._header[:size])
        self._header.clear()
        self.violation = self._open_frame(header)
        return at + size - held

    def _open_frame(self, header: bytes) -> Violation | None:
        self._fin = bool(header[0] & 0x80)
        self._opcode = header[0] & 0x0F
        if header[0] & 0x70 or self._opcode not in _OPCODES:
            return Violation(1002, "a frame with reserved bits or an unknown opcode came")
        if bool(header[1] & 0x80) != self._masked:
            return Violation(1002, "a frame is masked by the client, and only by the client")
        self._left = _payload_length(header)
        if self._opcode >= _CLOSE:
            if not self._fin or self._left > 125:
                return Violation(1002, "a control frame is whole and at most 125 bytes")
            return None
        return self._open_data()

    def _open_data(self) -> Violation | None:
        if (self._opcode == _CONTINUATION) != bool(self._fragments):
            return Violation(1002, "a message began inside another, or went on without a start")
        if self._opcode not in (_CONTINUATION, self._kind):
            wanted = "binary" if self._kind == _BINARY else "text"
            return Violation(1003, f"only {wanted} messages are taken here")
        self._fragments += 1
        self._size += self._left
        if self._size > self._limit:
            return Violation(
                1009, f"a message of {self._size} bytes or more came; the limit is {self._limit}"
            )
        if self._fragments > FRAGMENTS:
            return Violation(1008, f"a message has at most {FRAGMENTS} fragments here")
        return None

    def _finish_frame(self) -> None:
        if self._opcode == _CLOSE:
            self.peer_closed = True
        elif self._opcode < _CLOSE and self._fin:
            self.messages += 1
            self.payload += self._size
            self._size = self._fragments = 0


def _header_size(header: bytearray) -> int:
    """Bytes of the whole header, as far as what is there of it can tell."""
    if len(header) < 2:
        return 2
    extended = {126: 2, 127: 8}.get(header[1] & 0x7F, 0)
    return 2 + extended + (4 if header[1] & 0x80 else 0)


def _payload_length(header: bytes) -> int:
    short = header[1] & 0x7F
    if short < 126:
        return short
    return int.from_bytes(header[2 : 4 if short == 126 else 10], "big")
