"""How a run ended at a node, as its last event says. Pure and total."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.json import Json
from fleetgate.protocols.iop import wire as w
from fleetgate.protocols.iop.beside import beside
from fleetgate.protocols.iop.errors import STATUS
from fleetgate.protocols.iop.narrator import NODE_LOST, TIMEOUT
from fleetgate.protocols.iop.told import string_of, text_of

_INT32: Final = (1 << 31) - 1


def outcome_of(event: w.RunEvent, body: Mapping[str, Json], *, started: bool) -> Outcome:
    """How a run ended, by its last event. `started`: its start was heard."""
    known = _own_outcome(event.type, body)
    if known is not None:
        return known
    native = beside(event)
    match event.type:
        case "complete":
            return Outcome(
                RunState.SUCCEEDED, Reason.EXITED, text=event.message or None, native=native
            )
        case "cancelled":
            return Outcome(RunState.CANCELED, Reason.CANCELED, event.message, native=native)
        case _:
            state, reason = _failure(event.error, started=started)
            return Outcome(state, reason, event.error, text=event.message or None, native=native)


def _failure(error: str, *, started: bool) -> tuple[RunState, Reason]:
    if error.startswith(TIMEOUT):
        return RunState.FAILED, Reason.TIMED_OUT
    if error == NODE_LOST:
        return RunState.LOST, Reason.LOST
    refused = not started and error.partition(":")[0] in STATUS
    return RunState.FAILED, Reason.REFUSED if refused else Reason.ERROR


_STATES: Final[Mapping[str, frozenset[RunState]]] = {
    "complete": frozenset({RunState.SUCCEEDED}),
    "cancelled": frozenset({RunState.CANCELED}),
    "error": frozenset({RunState.FAILED, RunState.LOST}),
}


def _own_outcome(type: str, body: Mapping[str, Json]) -> Outcome | None:
    """An outcome that another gateway put into words of its own."""
    try:
        state, reason = RunState(string_of(body, "state")), Reason(string_of(body, "reason"))
        message = string_of(body, "message")
    except (ValueError, TypeError):
        return None
    if state not in _STATES[type]:
        return None
    code: Any = body.get("exit_code")
    return Outcome(
        state,
        reason,
        message,
        exit_code=code if type_is_int(code) and -_INT32 - 1 <= code <= _INT32 else None,
        signal=text_of(body.get("signal")),
        text=text_of(body.get("text")),
        native=body.get("native"),
    )


def type_is_int(value: object) -> bool:
    """Whether it is an integer, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)
