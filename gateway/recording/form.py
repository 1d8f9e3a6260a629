"""The form of a recording: its header, and what may follow it (docs/reference/recordings.md)."""

from __future__ import annotations

from typing import Final

from fleetgate import __version__
from fleetgate.gateway.render import Line

FORMAT: Final = 1
"""Raised when a reader of the old form would misunderstand the new one."""

MAX_LINE: Final = 256 << 20
"""Bytes of a line: the largest frame of any protocol, as base64 and decoded, and then some."""


def header(started: int, protocols: dict[str, str]) -> Line:
    """The first line. `started` is Unix nanoseconds, `protocols` the version of each protocol that
    is spoken on the links below."""
    return {
        "recording": FORMAT,
        "by": f"fleetgate {__version__}",
        "started": started,
        "protocols": protocols,
    }


def end(time: int, frames: int, lost: int) -> Line:
    """The last line: without it a recording was cut off."""
    return {"event": "end", "time": time, "frames": frames, "lost": lost}


def lost(time: int, items: int) -> Line:
    """Items that found no room are missing here."""
    return {"event": "lost", "time": time, "items": items}
