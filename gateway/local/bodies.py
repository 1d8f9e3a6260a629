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


def readable(data: bytes) -> str | bytes:
    """Output as text; what is no UTF-8 as it is."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def characters(data: bytes) -> tuple[bytes, bytes]:
    """Output up to its last whole character, and the start of one whose rest has not come."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-3:])
    rest = decoder.getstate()[0]
    return data[: len(data) - len(rest)], rest
