"""What an attempt saw: its frames, with direction and time, as many as a person would read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs
import trio

from fleetgate.gateway.printable import printable
from fleetgate.gateway.registry import adapters
from fleetgate.protocols.explaining import Speaker, Whence, other

MOST_FRAMES: Final = 200
"""Frames kept of one attempt: the first half, and the last. A burst of thousands says nothing."""

LONGEST: Final = 2_000
"""Characters of one frame; what is longer is a payload, and its beginning tells which."""

Show: TypeAlias = Callable[[bytes, bool], str]
"""One link's frames for people: any bytes, and whether the kit has sent them."""


@attrs.frozen(slots=True)
class SeenFrame:
    """A frame, or something else that happened on a link. `sent`: by the kit."""

    at: float
    """Seconds since the attempt began."""
    link: int
    sent: bool
    text: str
    note: bool = False
    """No frame: the link opened or ended."""

    def line(self) -> str:
        """For people."""
        mark = "--" if self.note else "->" if self.sent else "<-"
        return f"{self.at:8.3f} {self.link} {mark} {self.text}"


class Seen:
    """The frames of one attempt."""

    def __init__(self) -> None:
        self._began = trio.current_time()
        self._first: list[SeenFrame] = []
        self._last: list[SeenFrame] = []
        self.left_out = 0

    def add(self, link: int, sent: bool, text: str, note: bool = False) -> None:
        """Keep one."""
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}… ({len(text)} characters)"
        at = trio.current_time() - self._began
        frame = SeenFrame(at, link, sent, printable(text, newlines=False), note)
        if len(self._first) < MOST_FRAMES // 2:
            self._first.append(frame)
            return
        self._last.append(frame)
        if len(self._last) > MOST_FRAMES // 2:
            del self._last[0]
            self.left_out += 1

    @property
    def frames(self) -> tuple[SeenFrame, ...]:
        """In order."""
        if not self.left_out:
            return (*self._first, *self._last)
        gap = SeenFrame(self._last[0].at, 0, False, f"{self.left_out} frames left out", note=True)
        return (*self._first, gap, *self._last)


def hexed(data: bytes, most: int = 64) -> str:
    """Bytes as hexadecimal digits, for what cannot be decoded."""
    text = data[:most].hex(" ")
    return f"{text} … ({len(data)} bytes)" if len(data) > most else text


def shown(data: bytes, most: int = 300) -> str:
    """Bytes of a stream, which may hold text and lengths and halves of both."""
    text = repr(data[:most])[2:-1]
    return f"{text} … ({len(data)} bytes)" if len(data) > most else text


def show_with(protocol: str, target: Speaker) -> Show:
    """How the frames of a new link are shown, `target` being the side that is examined. What the
    protocol cannot read is shown as it is, with the rule that refuses it."""
    explainer = adapters(())[protocol].showing.explainer()

    def show(frame: bytes, sent: bool) -> str:
        explained = explainer.explain(frame, Whence(other(target) if sent else target))
        refused = f"  (refused: {explained.rule})" if explained.rule else ""
        if not explained.readable:
            return hexed(frame) + refused
        body = json.dumps(explained.body, ensure_ascii=False, separators=(",", ":"))
        return f"{explained.name} {body}{refused}".lstrip()

    return show
