"""A terminal's output, of which the newest can be read again (W 14.2). No I/O, no clock."""

from __future__ import annotations

from fleetgate.protocols.kodelet.workspace import KEPT, TerminalOutput, encoded


class Scrollback:
    """Positions count all bytes that ever came. `exit_code` is None while it goes on."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._data = bytearray()
        self._dropped = 0
        self.overflowed = False
        self.ended = False
        self.exit_code: int | None = None

    @property
    def first(self) -> int:
        """Where what is kept begins."""
        return self._dropped

    @property
    def end(self) -> int:
        """Where the next output will stand."""
        return self._dropped + len(self._data)

    def write(self, data: bytes) -> None:
        """More has come."""
        self._data += data
        over = len(self._data) - self._kept
        if over > 0:
            del self._data[:over]
            self._dropped += over

    def finish(self, exit_code: int | None) -> None:
        """No more comes."""
        self.ended, self.exit_code = True, exit_code

    def read(self, cursor: int, limit: int) -> TerminalOutput | None:
        """What stands at `cursor`, moved to what is kept; None where nothing is to be said yet."""
        begin = max(cursor, self._dropped)
        data = bytes(self._data[begin - self._dropped :][:limit])
        over = self.ended and begin + len(data) == self.end
        if not data and not over:
            return None
        code = self.exit_code if over else None
        return TerminalOutput(encoded(data), begin + len(data), begin > cursor, over, code)

    def head(self, limit: int) -> tuple[bytes, bool]:
        """The first of what came, at most `limit` bytes, and whether there was more. Nothing may
        have been dropped of it, which takes `fill` in place of `write`."""
        return bytes(self._data[:limit]), len(self._data) > limit or self.overflowed

    def fill(self, data: bytes) -> None:
        """More has come, of which the first is kept in place of the newest."""
        room = self._kept - len(self._data)
        self._data += data[:room]
        self.overflowed |= len(data) > room
