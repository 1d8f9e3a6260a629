"""Exit codes, as docs/reference/cli.md has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OK: Final = 0
FAILED: Final = 1
"""It was refused, or problems were found."""
USAGE: Final = 2
"""The command line makes no sense."""
UNREACHABLE: Final = 3
"""No gateway answers."""

TIMED_OUT: Final = 124
RUN_REFUSED: Final = 125
RUN_LOST: Final = 126
CANCELED: Final = 130
"""Of `gateway run`, beside the exit code of the run itself: the numbers that `timeout`,
`docker run` and shells use for the like."""

_SIGNALED: Final = 128
_SIGNALS: Final = {"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGKILL": 9, "SIGTERM": 15}


def of_outcome(outcome: Mapping[str, Any]) -> int:
    """The exit code that says how a run ended."""
    match outcome["state"]:
        case "succeeded":
            return OK
        case "canceled":
            return CANCELED
        case "lost":
            return RUN_LOST
        case _:
            return _of_failure(outcome)


def _of_failure(outcome: Mapping[str, Any]) -> int:
    if outcome["reason"] == "timed_out":
        return TIMED_OUT
    if outcome["exit_code"]:
        return int(outcome["exit_code"]) & 0xFF or FAILED
    if outcome["signal"] in _SIGNALS:
        return _SIGNALED + _SIGNALS[outcome["signal"]]
    return FAILED
