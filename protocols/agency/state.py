"""Which message may come when, what answers what, and since which minor: tables, no role."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Any, Final, get_args

from fleetgate.protocols.agency import wire


@unique
class Phase(Enum):
    """Where a connection is."""

    NEW = "new"
    """Nothing but hello may be said."""
    AGREED = "agreed"
    """Hello was said and answered; it may not be said again."""
    OVER = "over"


MAJOR: Final = 0

_MESSAGES: Final[frozenset[type[Any]]] = frozenset(get_args(wire.ClientMessage))

CLIENT_MAY: Final[Mapping[Phase, frozenset[type[Any]]]] = MappingProxyType(
    {
        Phase.NEW: frozenset({wire.Hello}),
        Phase.AGREED: _MESSAGES - {wire.Hello},
        Phase.OVER: frozenset(),
    }
)
"""The messages that a client may send in each phase (section 4.1)."""

_ANSWER: Final[Mapping[type[Any], type[Any]]] = {
    wire.Hello: wire.HelloAnswer,
    wire.ListRuns: wire.Runs,
    wire.ProbeProviders: wire.Providers,
    wire.ReadAccountUsage: wire.AccountUsage,
    wire.AttachRun: wire.RunAnswer,
    wire.InterruptSession: wire.SessionInterrupted,
}

ANSWERS: Final[Mapping[type[Any], frozenset[type[Any]]]] = MappingProxyType(
    {kind: frozenset({_ANSWER.get(kind, wire.Accepted), wire.Error}) for kind in _MESSAGES}
)
"""What a daemon may answer to each message (section 4.2)."""

SINCE: Final[Mapping[type[Any], int]] = MappingProxyType(
    {wire.ShutdownIfIdle: 2, wire.Shutdown: 3, wire.InterruptSession: 4}
)
"""The minor that brought a message; all others are there from the start (0.1c)."""

CAPABILITIES: Final[tuple[tuple[str, int], ...]] = (
    ("event_replay", 0),
    ("live_injection", 0),
    ("approvals", 0),
    ("cancellation", 0),
    ("session_interruption", 4),
    ("provider_detection", 0),
    ("lifecycle_control", 2),
)
"""What a daemon says it can do, in order, each with the minor that brought its name."""


def capabilities(minor: int) -> tuple[str, ...]:
    """The names that a peer of this minor knows: an older client dies of an unknown one
    (section 9.3)."""
    return tuple(name for name, since in CAPABILITIES if since <= minor)


def knows(minor: int, message: wire.ClientMessage) -> bool:
    """Whether a peer of this minor knows the message."""
    return SINCE.get(type(message), 0) <= minor


def negotiate(ours: int, theirs: wire.ProtocolVersion) -> int | None:
    """The minor that both sides speak, or None where the majors differ."""
    return min(ours, theirs.minor) if theirs.major == MAJOR else None
