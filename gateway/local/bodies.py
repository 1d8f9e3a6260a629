"""Text and bytes in pieces that an event may hold."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Final

from fleetgate.core.events import MAX_BODY

PIECE: Final = MAX_BODY // 4
"""Characters that fit into one body whatever they are: UTF-8 takes four bytes at most."""


def split_text(text: str) -> Iterator[str]:
    """A text in pieces of at most `MAX_BODY` bytes; of an empty one, none."""
    if len(text.encode(errors="replace")) <= MAX_BODY:
        if text:
            yield text
        return
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


class Decoder:
    """Bytes of UTF-8 as they come, into text: a character whose bytes are parted waits for its
    rest, and what is no UTF-8 is U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """The text that is complete now."""
        return self._decoder.decode(data)

    def end(self) -> str:
        """What is left: of half a character, U+FFFD."""
        return self._decoder.decode(b"", final=True)
