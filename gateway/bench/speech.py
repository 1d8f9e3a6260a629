"""The frames of one rvbox command, as its host says them."""

from __future__ import annotations

from typing import Final

from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.codec import encode

PLAIN_SESSION: Final = ("0" * 32, 1)
"""The session's id and generation where nobody opens one, as long as a real one."""


class Speech:
    """A command's events in order, from number 1 on. `now` is Unix nanoseconds."""

    def __init__(self, session: tuple[str, int], dispatch: w.CommandDispatch) -> None:
        self._session = session
        self._dispatch = dispatch
        self._offset = 0
        self.seq = 0
        """The number of the last event."""

    def running(self, now: int) -> bytes:
        """It was started."""
        return self._event(w.LifecycleChanged(w.CommandLifecycle.RUNNING, pid=1), now)

    def output(self, body: bytes, now: int) -> bytes:
        """It wrote `body`."""
        chunk = w.OutputChunk(w.OutputStream.STDOUT, body, self._offset)
        self._offset += len(body)
        return self._event(chunk, now)

    def exit(self, now: int) -> bytes:
        """It ended well; the last of its events."""
        return self._event(w.CommandExit(w.CommandLifecycle.EXITED, exit_code=0), now)

    def _event(self, happening: w.Happening, now: int) -> bytes:
        self.seq += 1
        asked = self._dispatch
        event = w.CommandEvent(asked.issue_uuid, asked.command_revision, self.seq, now, happening)
        return encode(w.Envelope(*self._session, event))
