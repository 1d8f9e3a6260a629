"""Messages in a gRPC stream: a byte for compression, four with the length, then the message.

No I/O. Nothing here speaks of HTTP/2, or of what is in a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fleetgate.transports.grpc_status import INTERNAL, RESOURCE_EXHAUSTED, UNIMPLEMENTED

PREFIX: Final = 5
"""Before each message there are so many bytes."""


class MessageFault(Exception):
    """What came is no message that can be taken. `status` is the answer to it; `messages` are the
    whole ones that came before."""

    def __init__(self, text: str, status: int, messages: Sequence[bytes] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.messages = messages


def prefixed(message: bytes) -> bytes:
    """A message as it stands in the stream, uncompressed."""
    return b"\0" + len(message).to_bytes(4, "big") + message


class Messages:
    """Takes a stream apart. After a fault it takes nothing more, and holds nothing."""

    __slots__ = ("_buffer", "_encoding", "_fault", "_limit", "_wanted")

    def __init__(self, limit: int, encoding: str = "identity") -> None:
        """`limit`: of a message, in bytes. `encoding`: the compression that the peer announced."""
        self._buffer = bytearray()
        self._limit = limit
        self._encoding = encoding
        self._wanted = PREFIX
        self._fault = False

    @property
    def held(self) -> int:
        """Bytes of a message that is not whole yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that these bytes complete.

        Raises: `MessageFault`: a message above the limit, told by its length, so before it is
        taken in; or a compressed one.
        """
        if self._fault:
            return []
        buffer = self._buffer
        buffer += data
        if len(buffer) < self._wanted:
            return []
        messages: list[bytes] = []
        at = 0
        try:
            while len(buffer) - at >= PREFIX:
                size = self._length(buffer, at)
                if len(buffer) - at < PREFIX + size:
                    self._wanted = PREFIX + size
                    break
                messages.append(bytes(buffer[at + PREFIX : at + PREFIX + size]))
                at += PREFIX + size
            else:
                self._wanted = PREFIX
        except MessageFault as fault:
            self._fault = True
            buffer.clear()
            fault.messages = messages
            raise
        del buffer[:at]
        return messages

    def eof(self) -> None:
        """The peer sends no more. Raises: `MessageFault` in the middle of a message."""
        if self._buffer:
            self._buffer.clear()
            raise MessageFault("the stream ended in the middle of a message", INTERNAL)

    def _length(self, buffer: bytearray, at: int) -> int:
        flag = buffer[at]
        if flag > 1:
            raise MessageFault(f"a message begins with 0 or 1, not {flag}", INTERNAL)
        if flag and self._encoding == "identity":
            raise MessageFault("a message is compressed, and no compression was named", INTERNAL)
        if flag:
            raise MessageFault("messages are taken uncompressed only", UNIMPLEMENTED)
        size = int.from_bytes(buffer[at + 1 : at + PREFIX], "big")
        if size > self._limit:
            text = f"a message of {size} bytes came; the limit is {self._limit}"
            raise MessageFault(text, RESOURCE_EXHAUSTED)
        return size
