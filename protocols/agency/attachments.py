"""What one connection is attached to, and the events that go out on it (section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from fleetgate.core.batch import Frames, once
from fleetgate.core.events import (
    MAX_BODY,
    OutputProduced,
    Recorded,
    RunFinished,
    TextProduced,
)
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.run import Run
from fleetgate.core.sequence import LAST_SEQ, replay_floor
from fleetgate.protocols.agency import wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.encode import (
    FrameTooLarge,
    encode_event,
    encode_texts,
    size_of,
)
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.agency.translate_events import View, from_event, view_of
from fleetgate.protocols.agency.trim import shorten
from fleetgate.protocols.api import NO_STEPS, Follow, Report, Send, Steps
from fleetgate.protocols.json_text import quote

_ENVELOPE: Final = 1024
"""What an event frame takes, in bytes, beside the run's id and the payload, with room to spare."""


@attrs.define(slots=True)
class _Attached:
    """Events up to `after` are shown to the view and not sent."""

    run_id: str
    after: int
    view: View


class Attachments:
    """The attachments of one connection."""

    def __init__(self, settings: AgencyNorthboundSettings) -> None:
        self._settings = settings
        self._attached: dict[RunId, _Attached] = {}
        self._canceling: RunId | None = None
        self._end: Send | None = None

    def floor(self, run: Run) -> int:
        """The oldest position that an attachment may start at. A genuine daemon forgets what
        was acknowledged without a word: there an older start silently begins behind it."""
        bound = self._settings.replay_bound
        if not self._settings.strict_parity:
            return replay_floor(run.last_seq, run.acknowledged, bound)
        kept = run.last_seq - run.acknowledged
        return replay_floor(run.last_seq, Seq(0), bound) if kept > bound > 0 else 0

    def attach(self, message: wire.AttachRun, run: Run) -> Follow:
        """Attach, in place of an earlier attachment to the run. The client asked for what is
        behind a position that is not below the floor; one behind all numbers that a journal
        has is the last of them."""
        after = min(max(message.after_sequence, run.acknowledged), LAST_SEQ)
        self._attached[run.id] = _Attached(message.run_id, after, view_of(run))
        if after > run.last_seq:
            return Follow(run.id, Seq(after))
        return Follow(run.id, Seq(max(0, after - self._settings.lookback)))

    def detach(self, run: RunId) -> bool:
        """Whether there was an attachment; there is none now."""
        return self._attached.pop(run, None) is not None

    def hold_end(self, run: RunId) -> None:
        """A cancel of the run is under way: its end must not go out before the answer."""
        self._canceling = run

    def release_end(self) -> Steps:
        """The cancel is answered: the end, if it came meanwhile."""
        end, self._end, self._canceling = self._end, None, None
        return NO_STEPS if end is None else (end,)

    def deliver_bulk(self, batch: Sequence[Recorded]) -> Sequence[bytes] | None:
        """The frames of the first events, up to one that is no text. None: the first is none,
        nothing was done."""
        attached = self._attached.get(batch[0].run) if batch else None
        if attached is None or batch[0].seq <= attached.after:
            return None
        if 6 * (MAX_BODY + len(attached.run_id)) + _ENVELOPE > wire.MAX_TEXT:
            return None  # no escape is longer than six times what it stands for
        run_id, streams = attached.run_id, attached.view.texts.values()
        halves = tuple(stream.half for stream in streams)
        told = once(batch, ("agency", run_id, halves), lambda: _tell(run_id, batch, attached.view))
        if told is None:
            return None
        for stream, half in zip(streams, told.halves, strict=True):
            stream.half = half
        return told.frames

    def deliver(self, batch: Sequence[Recorded]) -> Steps:
        """Events of one run, each as one frame with the same number.

        Raises: `FrameTooLarge`, in strict parity only; else such an event is shortened.
        """
        attached = self._attached.get(batch[0].run) if batch else None
        if attached is None:
            return NO_STEPS
        steps: list[Send | Report] = []
        for recorded in batch:
            event = from_event(recorded.event, attached.view)
            if recorded.seq <= attached.after:
                continue
            try:
                frame = encode_event(attached.run_id, recorded.seq, event)
            except FrameTooLarge as error:
                if self._settings.strict_parity:
                    raise
                frame = _shortened(attached.run_id, recorded.seq, event)
                steps.append(Report("event_truncated", f"{error.size} bytes", recorded.run))
            if recorded.run == self._canceling and isinstance(recorded.event, RunFinished):
                self._end = Send(frame)
            else:
                steps.append(Send(frame))
        return steps


@attrs.frozen(slots=True)
class _Told:
    """Frames, and what the view's streams have in hand behind them."""

    frames: Frames
    halves: Sequence[bytes]


def _tell(run_id: str, batch: Sequence[Recorded], view: View) -> _Told | None:
    texts = _texts(batch, view)
    if not texts:
        return None
    frames = Frames(encode_texts(run_id, batch[0].seq, texts))
    return _Told(frames, [stream.half for stream in view.texts.values()])


def _texts(batch: Sequence[Recorded], view: View) -> list[str]:
    """The texts that the first events become: up to one that is neither output nor text of a run,
    or is above what the core allows."""
    texts: list[str] = []
    for recorded in batch:
        event = recorded.event
        if type(event) is OutputProduced and len(event.data) <= MAX_BODY:
            texts.append(view.texts[event.stream].decode(event.data))
        elif type(event) is TextProduced and len(event.text) <= MAX_BODY:
            texts.append(event.text)
        else:
            break
    return texts


def _shortened(run_id: str, seq: Seq, event: w.RunEvent) -> bytes:
    room = wire.MAX_TEXT - size_of(quote(run_id)) - _ENVELOPE
    return encode_event(run_id, seq, shorten(event, room))
