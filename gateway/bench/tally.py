"""Counting the events that a load client gets, and holding them to their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

from fleetgate.gateway.bench.task import BenchFailed, read_stamp
from fleetgate.protocols.agency import wire_events as a
from fleetgate.protocols.agency.codec import decode_server
from fleetgate.protocols.rvbox import wire as r
from fleetgate.protocols.rvbox.codec import decode


@attrs.frozen(slots=True)
class Seen:
    """What a tally needs of an event: its number, its body if it is output, whether it is the
    last."""

    seq: int
    body: bytes | str | None
    last: bool


See: TypeAlias = Callable[[bytes], Seen]
"""Reads one frame. Raises: `BenchFailed`."""


def see_agency(frame: bytes) -> Seen:
    """An event as the bridge gives it out: agency's JSON."""
    message = decode_server(frame)
    if not isinstance(message, a.EventFrame):
        raise BenchFailed(f"the load client expected an event; {type(message).__name__} came")
    event = message.event
    body = event.payload if isinstance(event, a.Text) else None
    return Seen(message.sequence, body, isinstance(event, a.Finished | a.Failed))


def see_rvbox(frame: bytes) -> Seen:
    """An event as the relay passes it on: the host's own frame behind the kind byte."""
    payload = decode(frame[1:]).payload
    if not isinstance(payload, r.CommandEvent):
        raise BenchFailed(f"the load client expected an event; {type(payload).__name__} came")
    event = payload.event
    body = event.data if isinstance(event, r.OutputChunk) else None
    return Seen(payload.event_seq, body, isinstance(event, r.CommandExit))


class Tally:
    """Counts one run's events. Each must have the next number, so none is missing and none comes
    twice. `every`: read every frame, and note how late each body came. Otherwise only the last
    of each batch is read, so that counting stays cheap: its number says how many there were."""

    def __init__(self, see: See, *, every: bool) -> None:
        self._see = see
        self._every = every
        self._first = 0
        self.seq = 0
        """The number of the last event."""
        self.started = 0
        """When the first body was due; 0 before it came."""
        self.ended = False
        """The last event has come."""
        self.outputs = 0
        """Bodies that came."""
        self.size = 0
        """Bytes of all frames from the first body on."""
        self.lateness: list[int] = []
        """How many nanoseconds after it was due each body came."""

    def take(self, frames: Sequence[bytes], now: int) -> None:
        """Count frames that came together, at `now` on the clock of the stamps.

        Raises: `BenchFailed`: a number is not the next one, or a frame holds no event.
        """
        if self._every or not self.started:
            for frame in frames:
                self._count(self._look(frame, self.seq + 1), now)
        else:
            self._count(self._look(frames[-1], self.seq + len(frames)), None)
        if self.started:
            self.size += sum(map(len, frames))

    def _look(self, frame: bytes, expected: int) -> Seen:
        seen = self._see(frame)
        if seen.seq != expected:
            raise BenchFailed(f"the load client expected event {expected}; event {seen.seq} came")
        return seen

    def _count(self, seen: Seen, now: int | None) -> None:
        self.seq = seen.seq
        self.ended = seen.last
        if seen.body is not None and not self.started:
            self._first = seen.seq
            self.started = read_stamp(seen.body)
        if seen.body is not None and self._every and now is not None:
            self.lateness.append(now - read_stamp(seen.body))
        if self.started:
            self.outputs = seen.seq - self._first + (not seen.last)
