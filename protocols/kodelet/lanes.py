"""What a peer has to say, in two lanes: updates yield to everything else (W 5.2)."""

from __future__ import annotations

from collections.abc import Iterator

from fleetgate.core.queue import Queue


class Lanes:
    """Frames on their way to the driver. Updates beyond their bound push out the oldest one.

    The control lane takes what it is given: its bound is that of the genuine queue, and
    `crowded` says that it is reached. A connection empties both lanes at each call, so what
    is in them came of one frame.
    """

    def __init__(self, control: int, update: int) -> None:
        self._limit = control
        self._most_updates = update
        self._control: Queue[bytes] = Queue()
        self._update: Queue[bytes] = Queue()

    @property
    def crowded(self) -> bool:
        """Whether the control lane has reached its bound."""
        return len(self._control) >= self._limit

    def control(self, frame: bytes) -> None:
        """Requests, answers and ordinary notifications, in order."""
        self._control.append(frame)

    def update(self, frame: bytes) -> None:
        """A `tool.update`."""
        self._update.append(frame)
        if len(self._update) > self._most_updates:
            self._update.popleft()

    def take(self) -> bytes | None:
        """The next frame to send: an update only where nothing else waits."""
        if self._control:
            return self._control.popleft()
        return self._update.popleft() if self._update else None

    def drain(self) -> Iterator[bytes]:
        """Everything, in the order of sending."""
        while (frame := self.take()) is not None:
            yield frame
