"""The events of a run on the wire, and what a daemon may send altogether. Like `wire`, this
file does not postpone its annotations."""

from typing import TypeAlias

import attrs

from fleetgate.core.json import Json
from fleetgate.core.values import value
from fleetgate.protocols.agency.wire import Response, RunState


@value
class Finished:
    """The run settled with an outcome, good or bad. The payload says which."""

    payload: Json


@value
class Failed:
    """The run settled without an outcome, or was canceled."""

    payload: str


@value
class StateChanged:
    """The run is in another state. No genuine daemon sends it."""

    payload: RunState


@value
class SessionOpened:
    """The provider named its session."""

    provider_session_id: str
    model: str | None = None


@value
class Reasoning:
    """The agent thought."""

    payload: str


@value
class Text:
    """The agent said."""

    payload: str


@value
class MessageBoundary:
    """One message is over. Written without a payload."""


@value
class ToolCall:
    """The agent calls a tool."""

    id: str | None = attrs.field(default=None, kw_only=True)
    name: str
    input: Json


@value
class ToolResult:
    """What came of it."""

    id: str | None = attrs.field(default=None, kw_only=True)
    ok: bool | None = attrs.field(default=None, kw_only=True)
    output: str


@value
class ApprovalRequested:
    """The run waits for a decision."""

    approval_id: str
    title: str
    detail: Json


@value
class Usage:
    """Tokens, money, time."""

    payload: Json


@value
class RateLimit:
    """The account's rate limit."""

    payload: Json


@value
class Compaction:
    """The conversation's history is being compacted, or was."""

    payload: Json


@value
class Commands:
    """Commands and skills that a prompt may use."""

    payload: Json


@value
class ErrorEvent:
    """Something went wrong. Sent by no daemon that knows `failed`."""

    payload: str


@value
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


@value
class EventFrame:
    """An event of a run, with the run's own number for it (1, 2, 3…)."""

    run_id: str
    sequence: int
    event: RunEvent | UnknownEvent


ServerFrame: TypeAlias = Response | EventFrame
"""What a daemon sends."""
