"""Bytes that come in pieces, as text."""

from __future__ import annotations

from codecs import utf_8_decode
from collections.abc import Mapping
from typing import TypeAlias

from fleetgate.core.events import Stream


class Utf8:
    """The text of one stream of bytes, cut anywhere: of a character that two pieces share the
    first bytes wait for the rest. What is no UTF-8 becomes U+FFFD."""

    __slots__ = ("half",)

    def __init__(self) -> None:
        self.half = b""
        """What waits for the rest."""

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """The text of the next piece. `final`: no more comes, and nothing waits."""
        if self.half:
            data = self.half + data
        text, used = utf_8_decode(data, "replace", final)
        self.half = data[used:]
        return text


Texts: TypeAlias = Mapping[Stream, Utf8]
"""A process's streams."""


def streams() -> Texts:
    """Those of a process that has written nothing yet."""
    return {stream: Utf8() for stream in Stream}
