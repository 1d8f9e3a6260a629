"""What a call has said so far, as updates on their way out (W 11.4). Pure.

Each update carries all of it, twice: for the model and for people.
"""

from __future__ import annotations

from typing import Final

import attrs

from fleetgate.core.times import nanos
from fleetgate.protocols.kodelet import go_json, wire
from fleetgate.protocols.kodelet.codec import encode
from fleetgate.protocols.kodelet.transcript import DISPLAY_LIMIT, Transcript, Work, snapshot

PACE: Final = 32 * 1024
"""Bytes of an update that may go out every `update_every`. A longer one is followed by the next
that much later, so that what a call's updates take of a link does not grow with its output."""

_MARK: Final = "\U0010fffe"
"""Stands for the text in a frame that is made without it: a character that no text should have."""
_MARKED: Final = _MARK.encode()


@attrs.define(slots=True)
class Showing:
    """The updates of one call. `due`: none goes out before, Unix nanoseconds. `over`: one has shown
    as much as an update may, or is too long to be sent, and another would be the same."""

    due: int = 0
    over: bool = False

    def next(
        self, said: wire.ToolUpdate, work: Work, transcript: Transcript, now: int, every: float
    ) -> bytes:
        """The frame of an update, which says as `said` whose it is; the next one comes no sooner
        than `every` seconds behind it."""
        text = wire.cut(transcript.said, DISPLAY_LIMIT)
        frame = frame_of(said, work, text, now)
        self.due = now + nanos(every * max(1.0, len(frame) / PACE))
        self.over = len(text) < len(transcript.said)
        return frame


def frame_of(said: wire.ToolUpdate, work: Work, text: str, now: int) -> bytes:
    """The frame of an update that shows the text. As one with a mark in its place, where it stands
    in both places for itself: to write a long text out twice as part of other JSON takes ten times
    as long."""
    frame = _encoded(said, work, _MARK, now)
    if not text or frame.count(_MARKED) != 2:
        return _encoded(said, work, text, now)
    return frame.replace(_MARKED, go_json.quoted(text)[1:-1])


def _encoded(said: wire.ToolUpdate, work: Work, text: str, now: int) -> bytes:
    update = attrs.evolve(said, result=snapshot(work, text, now))
    return encode(wire.Notification("tool.update", update))
