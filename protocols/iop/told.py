"""Events whose members are in the body of a run event. Pure and total."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from fleetgate.core import events as e
from fleetgate.core.events import RunState
from fleetgate.core.json import Json

LARGEST: Final = (1 << 63) - 1


def text_of(value: Json) -> str | None:
    """A member that is to be a text; None for anything else."""
    return value if isinstance(value, str) else None


def number_of(value: Json) -> int | None:
    """A member that is to be a number from 0 on; None for anything else."""
    return value if type(value) is int and 0 <= value <= LARGEST else None


def event_of(kind: str, body: Mapping[str, Json]) -> e.Event | None:
    """An event whose members are in its body; None for another kind, or a body that is not so."""
    make = _TOLD.get(kind)
    try:
        return None if make is None else make(body)
    except (KeyError, ValueError, TypeError):
        return None


def string_of(body: Mapping[str, Json], key: str) -> str:
    """A member that is to be a text, empty where it is missing. Raises: `TypeError`."""
    value = body.get(key, "")
    if not isinstance(value, str):
        raise TypeError(key)
    return value


def _int(body: Mapping[str, Json], key: str) -> int:
    value = number_of(body[key])
    if value is None:
        raise TypeError(key)
    return value


def _state(body: Mapping[str, Json]) -> e.Event:
    """A state of waiting, of a run that a worker has, is `starting` here."""
    state = RunState(string_of(body, "state"))
    if state.terminal:
        raise ValueError(state)
    queued = state is RunState.QUEUED
    return e.StateChanged(RunState.STARTING if queued else state, string_of(body, "detail"))


def _decided(body: Mapping[str, Json]) -> e.Event:
    decision = e.Decision(string_of(body, "decision"))
    return e.ApprovalResolved(string_of(body, "approval"), decision, text_of(body.get("value")))


def _returned(body: Mapping[str, Json]) -> e.Event:
    ok = body.get("ok")
    return e.ToolReturned(
        string_of(body, "output"), ok if isinstance(ok, bool) else None, text_of(body.get("call"))
    )


_TOLD: Final[Mapping[str, Callable[[Mapping[str, Json]], e.Event]]] = {
    "started": lambda body: e.RunStarted(number_of(body.get("pid"))),
    "state": _state,
    "message_end": lambda _: e.MessageEnded(),
    "tool_call": lambda body: e.ToolCalled(
        string_of(body, "name"), body.get("input"), text_of(body.get("call"))
    ),
    "tool_result": _returned,
    "approval": lambda body: e.ApprovalRequested(
        string_of(body, "approval"), string_of(body, "title"), body.get("detail")
    ),
    "approval_resolved": _decided,
    "input": lambda body: e.InputAccepted(_int(body, "through")),
    "usage": lambda body: e.UsageReported(
        number_of(body.get("input_tokens")),
        number_of(body.get("output_tokens")),
        body.get("detail"),
    ),
    "rate_limit": lambda body: e.RateLimited(body.get("detail")),
    "compaction": lambda body: e.HistoryCompacted(body.get("detail")),
    "commands": lambda body: e.CommandsListed(body.get("detail")),
    "diagnosed": lambda body: e.Diagnosed(string_of(body, "message"), string_of(body, "code")),
    "gap": lambda body: e.GapFound(
        _int(body, "from_seq"), _int(body, "to_seq"), string_of(body, "reason")
    ),
}
