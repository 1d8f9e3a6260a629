"""The operations of the JSON-lines front end (docs/reference/fakes.md), as values.

Each is an object with `op` and an `id` that the answer carries. Unknown operations and
members are refused with the nearest that there is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

import attrs

from fleetgate.core.commands import CancelScope, RunSpec, Signal
from fleetgate.core.errors import InvalidArgument
from fleetgate.core.events import Decision
from fleetgate.core.values import value
from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.fakes.fault_specs import Fault
from fleetgate.gateway.spec import MAX_TIMEOUT, SPEC_KEYS, read_object, read_spec
from fleetgate.protocols.json_text import Twice, once


def a_span(_instance: object, attribute: attrs.Attribute[Any], value: int | None) -> None:
    """Whether milliseconds are no more than a run may be given."""
    if value is not None and not 0 <= value <= MAX_TIMEOUT:
        raise ValueError(f"{attribute.name} is expected to be 0 to {MAX_TIMEOUT}")


@value
class Workers:
    """List the workers."""


@value
class Runs:
    """List the runs."""


@value
class Start:
    """Start a run; answered once it is journaled."""

    run: str
    spec: RunSpec
    worker: str | None = None


@value
class Send:
    """Send input to a run."""

    run: str
    text: str | None = None
    data_base64: str | None = None
    newline: bool = False


@value
class CloseInput:
    """Close a run's input."""

    run: str


@value
class SignalOp:
    """Signal a run."""

    run: str
    signal: Signal


@value
class Cancel:
    """Cancel a run, or its session."""

    run: str
    scope: CancelScope = CancelScope.RUN


@value
class Approve:
    """Answer an approval."""

    run: str
    approval: str
    decision: Decision
    value: str | None = None


@value
class Follow:
    """Print a run's events above `after`, and those to come."""

    run: str
    after: int = 0


@value
class Unfollow:
    """Print no more of a run."""

    run: str


@value
class Ack:
    """Acknowledge a run's events."""

    run: str
    through: int


@value
class Status:
    """A run as it stands."""

    run: str


@value
class Wait:
    """Wait for a run's end."""

    run: str
    timeout_ms: int = attrs.field(default=60_000, validator=a_span)


@value
class Usage:
    """Ask the workers for their accounts' usage."""


@value
class Drop:
    """Cut the link, without a goodbye."""

    worker: str | None = None


@value
class Raw:
    """Put a frame on the wire as it is."""

    data_base64: str | None = None
    text: str | None = None
    worker: str | None = None


@value
class Emit:
    """Append steps, as a script has them, to a run that is played."""

    run: str
    steps: tuple[Any, ...]


@value
class Quit:
    """End."""


Operation: TypeAlias = (
    Workers
    | Runs
    | Start
    | Send
    | CloseInput
    | SignalOp
    | Cancel
    | Approve
    | Follow
    | Unfollow
    | Ack
    | Status
    | Wait
    | Usage
    | Drop
    | Raw
    | Fault
    | Emit
    | Quit
)

CONTROLLER: Final[Mapping[str, type[Any]]] = {
    "workers": Workers,
    "start": Start,
    "send": Send,
    "close_input": CloseInput,
    "signal": SignalOp,
    "cancel": Cancel,
    "approve": Approve,
    "follow": Follow,
    "unfollow": Unfollow,
    "ack": Ack,
    "status": Status,
    "wait": Wait,
    "usage": Usage,
    "drop": Drop,
    "raw": Raw,
    "fault": Fault,
    "quit": Quit,
}
"""What a fake that plays the controller takes."""

WORKER: Final[Mapping[str, type[Any]]] = {
    "runs": Runs,
    "emit": Emit,
    "drop": Drop,
    "raw": Raw,
    "fault": Fault,
    "quit": Quit,
}
"""What a fake that plays the worker takes."""


EXPECTED: Final = "expected one JSON object in a line"


def _why(error: Exception) -> str:
    """What is wrong with a line, and where, as far as that is known."""
    match error:
        case json.JSONDecodeError(msg=said, pos=at):
            return f"; at character {at + 1} of this one: {said[:1].lower()}{said[1:]}"
        case UnicodeDecodeError(start=at):
            return f"; this one is not UTF-8 at byte {at + 1}"
        case _:
            return "; this one cannot be read: it is nested too deep, or has too long a number"


def read_operation(line: bytes, known: Mapping[str, type[Any]]) -> tuple[str | None, Operation]:
    """The operation of one line, and its id.

    Raises: `BadLine`, which carries the id if there is one.
    """
    try:
        value = json.loads(line, object_pairs_hook=once)
    except Twice as twice:
        said = f"{twice.key}: this key is there twice in one object; leave one out"
        raise BadLine(None, InvalidArgument(said)) from None
    except (ValueError, RecursionError) as error:
        raise BadLine(None, InvalidArgument(f"{EXPECTED}{_why(error)}")) from None
    if not isinstance(value, dict):
        raise BadLine(None, InvalidArgument("expected a JSON object"))
    members = cast(dict[str, Any], value)
    id = members.pop("id", None)
    if not isinstance(id, str):
        raise BadLine(None, InvalidArgument("id: expected a string"))
    try:
        return id, as_operation(members, known)
    except InvalidArgument as refusal:
        raise BadLine(id, refusal) from None


class BadLine(Exception):
    """A line is no operation."""

    def __init__(self, id: str | None, refusal: InvalidArgument) -> None:
        super().__init__(refusal.message)
        self.id = id
        self.refusal = refusal


def as_operation(members: dict[str, Any], known: Mapping[str, type[Any]]) -> Operation:
    """The operation that these members are, `op` among them, which it takes out.

    Raises: `InvalidArgument`.
    """
    name = members.pop("op", None)
    every = f"known: {', '.join(known)}"
    if not isinstance(name, str):
        raise InvalidArgument(f"op: no operation has this name; {every}")
    if name not in known:
        if name in CONTROLLER or name in WORKER:
            side = "controllers" if name in CONTROLLER else "workers"
            raise InvalidArgument(
                f"op: {name} is an operation of {side}, not of this fake; {every}"
            )
        raise InvalidArgument(f"op: no operation has this name; {nearest(name, known)}")
    if known[name] is Start:
        return _read_start(members)
    return cast(Operation, read_object(known[name], members))


@value
class _Start:
    run: str
    worker: str | None = None


def _read_start(members: dict[str, Any]) -> Start:
    of_spec = {key: value for key, value in members.items() if key in SPEC_KEYS}
    rest = {key: value for key, value in members.items() if key not in SPEC_KEYS}
    named = read_object(_Start, rest, also=SPEC_KEYS)
    return Start(named.run, read_spec(of_spec), named.worker)
