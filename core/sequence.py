"""The rules of a numbered sequence: arrival, acknowledgement, replay. No storage."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique
from typing import Final

from fleetgate.core.events import MAX_BODY
from fleetgate.core.ids import Seq

LAST_SEQ: Final = (1 << 32) - 1
"""The number of the last event that a run may have: at a thousand a second, seven weeks of
events. A journal keeps run and number in one 63-bit key."""


@unique
class Arrival(Enum):
    """How a numbered event stands to those before it."""

    NEXT = "next"
    DUPLICATE = "duplicate"
    GAP = "gap"


def arrival(last: int, seq: int) -> Arrival:
    """Compare `seq` with the last one taken (0: none yet)."""
    if seq == last + 1:
        return Arrival.NEXT
    return Arrival.DUPLICATE if seq <= last else Arrival.GAP


def acknowledge(acknowledged: Seq, last: Seq, through: int) -> Seq:
    """A cumulative acknowledgement: never past the last event, never backwards."""
    return Seq(max(acknowledged, min(through, last)))


def replay_floor(last: Seq, acknowledged: Seq, bound: int) -> Seq:
    """The oldest position from which all that follows is still offered: at most `bound`
    events back (0: no bound), and nothing that was acknowledged."""
    oldest = last - bound if bound else 0
    return Seq(max(acknowledged, oldest, 0))


def split_bytes(data: bytes, limit: int = MAX_BODY) -> Iterator[bytes]:
    """Cut `data` into pieces of at most `limit` bytes. Empty data is one empty piece."""
    for at in range(0, max(len(data), 1), limit):
        yield data[at : at + limit]


def split_text(text: str, limit: int = MAX_BODY) -> Iterator[str]:
    """Cut `text` into pieces of at most `limit` UTF-8 bytes, never inside a character.

    `limit` is at least 4, the bytes of the longest character. Empty text is one empty piece.
    """
    if limit < 4:
        raise ValueError(f"a piece of text needs a limit of at least 4 bytes, not {limit}")
    if len(text) <= limit and text.isascii():
        yield text
        return
    data = text.encode()
    at = 0
    while len(data) - at > limit:
        end = at + limit
        while data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[at:end].decode()
        at = end
    yield data[at:].decode()
