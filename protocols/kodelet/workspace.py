"""What 0.5.36 adds to the protocol: a workspace's changes, and a terminal in it (W 14.2)."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Final

from fleetgate.core.values import value
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet.errors import INTERNAL, UNAVAILABLE, RpcError, invalid
from fleetgate.protocols.kodelet.structs import field
from fleetgate.protocols.strict import U64

GIT_DIFF: Final = "workspace.git.diff"
OPEN: Final = "workspace.terminal.open"
READ: Final = "workspace.terminal.read"
INPUT: Final = "workspace.terminal.input"
RESIZE: Final = "workspace.terminal.resize"

MAX_DIFF: Final = 524_288
"""Bytes of a diff; a longer one is cut."""
KEPT: Final = 1 << 20
"""Bytes of a terminal's output that can be read again."""
MAX_INPUT: Final = 65_536
"""Bytes of one input, decoded."""
ROWS: Final = 28
COLUMNS: Final = 100
MOST_CELLS: Final = 400
"""Rows, and columns, that a terminal may have."""
READ_BYTES: Final = 65_536
MOST_READ_BYTES: Final = 262_144
WAIT_MS: Final = 20_000
MOST_WAIT_MS: Final = 25_000

NO_SESSION_ID: Final = invalid("terminal session id is required")
NO_SESSION: Final = RpcError(INTERNAL, "terminal session was not found")
CLOSED: Final = RpcError(UNAVAILABLE, "terminal session is closed")
AHEAD: Final = RpcError(INTERNAL, "terminal cursor is ahead of available output")
TOO_LONG: Final = RpcError(INTERNAL, f"terminal input exceeds {MAX_INPUT} bytes")


@value
class NoParams:
    """`workspace.git.diff`."""


@value
class GitDiff:
    cwd: str = ""
    diff: str = ""
    has_diff: bool = False
    git_root: str = field("", omit=True)
    exit_code: int = 0
    truncated: bool = field(False, omit=True)


@value
class TerminalOpen:
    rows: int = field(0, omit=True)
    cols: int = field(0, omit=True)


@value
class Terminal:
    session_id: str = ""
    cwd: str = ""
    name: str = ""
    git: bool = False
    pid: int = field(0, omit=True)
    replay_cursor: U64 = 0
    write_cursor: U64 = 0


@value
class TerminalRead:
    session_id: str = ""
    cursor: U64 = 0
    max_bytes: int = field(0, omit=True)
    wait_ms: int = field(0, omit=True)


@value
class TerminalOutput:
    data: str = field("", omit=True)
    next_cursor: U64 = 0
    truncated: bool = field(False, omit=True)
    exited: bool = field(False, omit=True)
    exit_code: int | None = field(None, omit=True)


@value
class TerminalInput:
    session_id: str = ""
    data: str = ""


@value
class TerminalResize:
    session_id: str = ""
    rows: int = 0
    cols: int = 0


def encoded(data: bytes) -> str:
    """Bytes as the protocol carries them."""
    return b64encode(data).decode()


def decoded(text: str) -> bytes:
    """The bytes again. Raises: `Malformed`."""
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed("data: expected base64") from None


def size_of(asked: int, default: int) -> int:
    """Rows or columns that a terminal gets."""
    return min(asked, MOST_CELLS) if asked > 0 else default
