"""What comes in on a WebSocket: messages, and what the library is to see. No I/O.

The library would turn the event loop once for every message, and once more for whoever reads it:
half of what a message cost, and where another thread waits for the interpreter lock, as a journal's
does, a switch between the two besides. So messages are taken out here, all that came in one read
at once, and control frames are left to it. A message's length is known when the header has come
and not when the body is in memory, and endless empty fragments come to an end.
"""

from __future__ import annotations

from typing import Final

import attrs

FRAGMENTS: Final = 16_384
"""Fragments of one message: 4 MiB in pieces of 256 bytes. Empty ones would be a way to keep us
busy with a message that never comes."""

_LONGEST_HEADER: Final = 14
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_OPCODES: Final = frozenset((_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG))


@attrs.frozen(slots=True)
class Violation:
    """What the peer did, and the close code for it (RFC 6455 section 7.4.1); None: no word."""

    code: int | None
    text: str


@attrs.define(slots=True)
class Pings:
    """The peer's pings: how many came, what the last one carried, and whether they are answered,
    which a test of a peer may change."""

    came: int = 0
    last: bytes = b""
    answered: bool = True


class Guard:
    """Takes the messages out of the bytes of one direction, from the end of the upgrade on, and
    lets control frames through as they came."""

    def __init__(
        self,
        *,
        masked: bool,
        binary: bool,
        limit: int,
        any_text: bool = False,
        drop_other: bool = False,
    ) -> None:
        """`masked`: the peer is the client and must mask. `limit`: bytes of a message. `any_text`:
        a text message need not be UTF-8. `drop_other`: one of the other kind is not answered."""
        self._masked = masked
        self._any_text = any_text
        self._drop_other = drop_other
        self._kind = _BINARY if binary else _TEXT
        self._limit = limit
        self._header = b""
        self._inside = False
        self._left = 0
        self._opcode = _CONTINUATION
        self._fin = True
        self._frame = bytearray()
        """The payload of a frame that comes in several reads. One object, however many they are:
        a peer that sends single bytes must not choose how many we keep."""
        self._message = bytearray()
        """The fragments of a message but for the last one."""
        self._fragments = 0
        self._size = 0
        self.taken: list[bytes] = []
        """Messages that have come whole. Whoever reads them takes them out."""
        self.payload = 0
        """Bytes of all messages that ever came whole."""
        self.pongs = 0
        """Pongs that ever came whole."""
        self.pings = Pings()
        self.peer_closed = False
        """A close frame has come: behind it nothing is looked at."""
        self.violation: Violation | None = None
        self.parting = False
        """Our close frame has gone out. No pong may follow it (RFC 6455 section 5.5.1), and the
        library's reader dies of one that it owes: pings are let go."""

    def feed(self, data: bytes) -> bytes:
        """Take in the next bytes. Answers the control frames that are whole now. Behind a
        violation nothing is looked at."""
        passed, at = b"", self._take_plain(data, 0)
        while at < len(data) and self.violation is None and not self.peer_closed:
            if not self._inside:
                at = self._read_header(data, at)
                if not self._inside:
                    break
            piece = data[at : at + self._left]
            at += len(piece)
            self._left -= len(piece)
            if self._left or self._frame:
                self._frame += piece
            if not self._left:
                passed += self._end_frame(bytes(self._frame) if self._frame else piece)
                at = self._take_plain(data, at)
        return passed

    def _take_plain(self, data: bytes, at: int) -> int:
        """The short way of nearly all that comes: messages that are one frame each and whole in
        `data`, from `at` on. Answers where that ends; what is there goes the long way, which would
        take these as well. A read of a busy link begins and ends within a frame: behind each that
        has gone the long way this is tried again."""
        if self._inside or self._header or self._fragments or self.violation or self.peer_closed:
            return at
        size, first, masked = len(data), 0x80 | self._kind, self._masked
        while size - at > 3 and data[at] == first and (data[at + 1] >= 0x80) is masked:
            length, start = data[at + 1] & 0x7F, at + 2
            if length > 125:
                if length == 127:
                    break
                length, start = data[at + 2] << 8 | data[at + 3], at + 4
            body = start + 4 if masked else start
            end = body + length
            if end > size or length > self._limit:
                break
            message = _unmasked(data[body:end], data[start:body]) if masked else data[body:end]
            self._take(message)
            if self.violation is not None:
                return size
            at = end
        return at

    def _read_header(self, data: bytes, at: int) -> int:
        held = len(self._header)
        header = self._header + data[at : at + _LONGEST_HEADER - held]
        size = _header_size(header)
        if len(header) < size:
            self._header = header
            return len(data)
        self._header = header[:size]
        self.violation = self._open_frame(self._header)
        self._inside = self.violation is None
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
            code = None if self._drop_other else 1003
            return Violation(code, f"only {wanted} messages are taken here")
        self._fragments += 1
        self._size += self._left
        if self._size > self._limit:
            return Violation(
                1009, f"a message of {self._size} bytes or more came; the limit is {self._limit}"
            )
        if self._fragments > FRAGMENTS:
            return Violation(1008, f"a message has at most {FRAGMENTS} fragments here")
        return None

    def _end_frame(self, payload: bytes) -> bytes:
        header, self._header = self._header, b""
        self._inside = False
        self._frame.clear()
        if self._opcode >= _CLOSE:
            self.peer_closed = self._opcode == _CLOSE
            self.pongs += self._opcode == _PONG
            let_go = self._opcode == _PING and self._lets_go(header, payload)
            return b"" if let_go else header + payload
        if self._masked:
            payload = _unmasked(payload, header[-4:])
        if not self._fin or self._message:
            self._message += payload
            payload = bytes(self._message) if self._fin else b""
        if self._fin:
            self._take(payload)
        return b""

    def _lets_go(self, header: bytes, payload: bytes) -> bool:
        """Whether a ping is not shown to the library, which would answer it."""
        self.pings.came += 1
        self.pings.last = _unmasked(payload, header[-4:]) if self._masked else payload
        return self.parting or not self.pings.answered

    def _take(self, message: bytes) -> None:
        self._message.clear()
        self._size = self._fragments = 0
        if self._kind == _TEXT and not self._any_text and not _is_utf8(message):
            self.violation = Violation(1007, "a text message came that is no UTF-8")
            return
        self.taken.append(message)
        self.payload += len(message)


def _unmasked(payload: bytes, key: bytes) -> bytes:
    """The payload with the client's mask taken off (RFC 6455 section 5.3). A loop over its bytes
    would be Python's: a short one is taken as one long number, of another each fourth byte at a
    time, which from here on is up to twice as fast."""
    size = len(payload)
    if size < _LONG:
        mask = int.from_bytes((key * (size // 4 + 1))[:size], "little")
        return (int.from_bytes(payload, "little") ^ mask).to_bytes(size, "little")
    bare = bytearray(payload)
    for lane, byte in enumerate(key):
        bare[lane::4] = bare[lane::4].translate(_MASKED[byte])
    return bytes(bare)


_LONG: Final = 512
_BYTES: Final = int.from_bytes(bytes(range(256)), "little")
_EACH: Final = int.from_bytes(b"\1" * 256, "little")
_MASKED: Final = tuple((_BYTES ^ _EACH * mask).to_bytes(256, "little") for mask in range(256))
"""What each byte becomes under each byte of a mask."""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _header_size(header: bytes) -> int:
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
