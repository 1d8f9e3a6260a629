"""Which message may come when, as tables: phases of a connection, methods, states of a run."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Final


@unique
class Phase(Enum):
    """Where a connection is, on either side (W 7)."""

    NEW = "new"
    """Nothing but `runner.register` may be asked of a control plane."""
    REGISTERING = "registering"
    REGISTERED = "registered"
    """Registered, and no valid heartbeat has come yet."""
    READY = "ready"
    DETACHED = "detached"
    """The runner said goodbye or was replaced: nothing it says counts any more."""


@unique
class RunPhase(Enum):
    """Where a run is at a control plane (W 13.1)."""

    OPENING = "opening"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    LOST = "lost"


OPENING: Final = frozenset({RunPhase.OPENING})
"""Phases in which a run may be missing from a heartbeat for ever (W 8.4)."""

CONTROL: Final = frozenset({"run.cancel", "run.close"})
"""Requests with a pool of their own, so that they get through whatever else waits (W 5.1)."""

INTERACTIVE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ui.input": "input",
        "ui.confirm": "confirmation",
        "ui.select": "selection",
        "ui.notify": "notification",
    }
)
"""The methods that an attached person answers, and the word for each in a refusal (W 12.3)."""

PERSISTENT: Final = frozenset(
    {
        "ui.widget.set",
        "ui.widget.frame",
        "ui.widget.remove",
        "ui.transcript.append",
        "ui.surface.open",
        "ui.surface.frame",
        "ui.surface.close",
    }
)

LIFECYCLE_EVENTS: Final = frozenset(
    {
        "user.message",
        "agent.start",
        "turn.start",
        "agent.init",
        "turn.end",
        "agent.end",
        "tool.call",
        "tool.update",
        "tool.result",
    }
)

RUNNER_REQUESTS: Final = frozenset({"runner.register", *INTERACTIVE, *PERSISTENT})
RUNNER_NOTIFICATIONS: Final = frozenset(
    {
        "runner.heartbeat",
        "runner.manifestChanged",
        "runner.goodbye",
        "run.environmentError",
        "tool.update",
    }
)
CONTROL_PLANE_NOTIFICATIONS: Final = frozenset({"ui.surface.input", "ui.surface.resize"})

HEARTBEAT_STATES: Final[Mapping[str, bool | None]] = MappingProxyType(
    {"idle": False, "running": True, "stopping": True, "error": None}
)
"""The states a heartbeat may say, and whether runs must be named with it (None: either)."""
