"""The events of a run on the wire, and what a daemon may send altogether. Like `wire`, this
file does not postpone its annotations."""

from typing import TypeAlias

import attrs

from fleetgate.core.json import Json
from fleetgate.protocols.agency.wire import Response, RunState


@attrs.frozen(slots=True)
class Finished:
    """The run settled with an outcome, good or bad. The payload says which."""

    payload: Json


@attrs.frozen(slots=True)
class Failed:
    """The run settled without an outcome, or was canceled."""

    payload: str


@attrs.frozen(slots=True)
class StateChanged:
    """The run is in another state. No genuine daemon sends it."""

    payload: RunState


@attrs.frozen(slots=True)
class SessionOpened:
    """The provider named its session."""

    provider_session_id: str
    model: str | None = None


@attrs.frozen(slots=True)
class Reasoning:
    """The agent thought."""

    payload: str


@attrs.frozen(slots=True)
class Text:
    """The agent said."""

    payload: str


@attrs.frozen(slots=True)
class MessageBoundary:
    """One message is over. Written without a payload."""


@attrs.frozen(slots=True)
class ToolCall:
    """The agent calls a tool."""

    id: str | None = attrs.field(default=None, kw_only=True)
    name: str
    input: Json


@attrs.frozen(slots=True)
class ToolResult:
    """What came of it."""

    id: str | None = attrs.field(default=None, kw_only=True)
    ok: bool | None = attrs.field(default=None, kw_only=True)
    output: str


@attrs.frozen(slots=True)
class ApprovalRequested:
    """The run waits for a decision."""

    approval_id: str
    title: str
    detail: Json


@attrs.frozen(slots=True)
class Usage:
    """Tokens, money, time."""

    payload: Json


@attrs.frozen(slots=True)
class RateLimit:
    """The account's rate limit."""

    payload: Json


@attrs.frozen(slots=True)
class Compaction:
    """The conversation's history is being compacted, or was."""

    payload: Json


@attrs.frozen(slots=True)
class Commands:
    """Commands and skills that a prompt may use."""

    payload: Json


@attrs.frozen(slots=True)
class ErrorEvent:
    """Something went wrong. Sent by no daemon that knows `failed`."""

    payload: str


@attrs.frozen(slots=True)
class UnknownEvent:
    """An event of a type that is not known here. A client keeps it; it is never sent."""

    type: str
    payload: Json


RunEvent: TypeAlias = (
    Finished
    | Failed
    | StateChanged
    | SessionOpened
    | Reasoning
    | Text
    | MessageBoundary
    | ToolCall
    | ToolResult
    | ApprovalRequested
    | Usage
    | RateLimit
    | Compaction
    | Commands
    | ErrorEvent
)


@attrs.frozen(slots=True)
class EventFrame:
    """An event of a run, with the run's own number for it (1, 2, 3…)."""

    run_id: str
    sequence: int
    event: RunEvent | UnknownEvent


ServerFrame: TypeAlias = Response | EventFrame
"""What a daemon sends."""
