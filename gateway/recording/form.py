"""The form of a recording: its header, and what may follow it (docs/reference/recordings.md)."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from fleetgate import __version__
from fleetgate.gateway.render import Line

FORMAT: Final = 1
"""Raised when a reader of the old form would misunderstand the new one."""


_BEGUN: Final = b'{"recording":'
"""How we begin a header: a first line that does so and is no JSON was cut off within it."""


def read_line(line: bytes) -> Line | None:
    """A line of a recording; None where it is no JSON object."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("Line", value) if isinstance(value, dict) else None


def is_cut_header(line: bytes) -> bool:
    """Whether a recording is cut off within its first line."""
    return line.startswith(_BEGUN) and read_line(line) is None


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
