"""The error codes, their gRPC statuses, and how a link ends with each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fleetgate.core.errors import Refusal
from fleetgate.protocols.api import Close

OK: Final = 0
UNAUTHENTICATED: Final = 16
PERMISSION_DENIED: Final = 7
RESOURCE_EXHAUSTED: Final = 8
FAILED_PRECONDITION: Final = 9
ABORTED: Final = 10
INTERNAL: Final = 13
UNAVAILABLE: Final = 14

STATUS: Final[Mapping[str, int]] = {
    "protocol_violation": FAILED_PRECONDITION,
    "unauthenticated": UNAUTHENTICATED,
    "invalid_argument": 3,
    "not_found": 5,
    "session_not_found": 5,
    "conflict": 6,
    "replaced": ABORTED,
    "unsupported_input": 12,
    "unsupported_adapter": 12,
    "resource_exhausted": RESOURCE_EXHAUSTED,
    "unavailable": UNAVAILABLE,
    "workspace_outside_root": PERMISSION_DENIED,
    "not_allowed": PERMISSION_DENIED,
    "internal": INTERNAL,
}
"""Each code, and the gRPC status that goes with it. `not_allowed` is our own, for a controller that
only looks: `conflict` would tell it that its run is there already."""

_CODES: Final[Mapping[str, str]] = {
    "not_accepted": "unsupported_adapter",
    "no_route": "unavailable",
    "stopping": "unavailable",
    "worker_not_found": "unavailable",
    "worker_failed": "internal",
    "fenced": "replaced",
    "instance_conflict": "unavailable",
    "approval_not_found": "not_found",
    "run_ended": "conflict",
}
"""What a refusal of the core is called here, where it has another name."""

_SHUTDOWN: Final = 1001
_REFUSED: Final = 1008
_REPLACED: Final = 4002
_CLOSES: Final[Mapping[str, int]] = {"replaced": _REPLACED, "unavailable": _SHUTDOWN}

LONGEST: Final = 1024
"""Characters of a refusal's text: it becomes a header, and may hold what a peer wrote."""


class Refused(Exception):
    """Something that a peer asked for is refused; `code` is one of `STATUS`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message[:LONGEST]}")
        self.code = code
        self.message = message[:LONGEST]


def of_refusal(refusal: Refusal) -> Refused:
    """A refusal of the core in this protocol's words."""
    code = _CODES.get(refusal.code, refusal.code)
    return Refused(code if code in STATUS else "internal", refusal.message)


def close_with(code: str, reason: str, *, retry: bool = True) -> Close:
    """End a link with an error: its status where the carriage has one, else a close code."""
    said = reason.encode("ascii", "replace").decode()[:120]
    return Close(_CLOSES.get(code, _REFUSED), said, retry, STATUS[code])


def end_call(refused: Refused | None = None) -> Close:
    """End a call, well or with a refusal."""
    if refused is None:
        return Close(1000, "", status=OK)
    return Close(_REFUSED, str(refused), status=STATUS[refused.code])
