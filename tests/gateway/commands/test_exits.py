"""The exit code says how a run ended."""

from __future__ import annotations

from typing import Any

import pytest

from fleetgate.gateway.commands.exits import of_outcome


@pytest.mark.parametrize(
    ("state", "reason", "rest", "code"),
    [
        ("succeeded", "exited", {"exit_code": 0}, 0),
        ("failed", "exited", {"exit_code": 3}, 3),
        ("failed", "exited", {"exit_code": 256}, 1),
        ("failed", "exited", {"exit_code": -1}, 255),
        ("failed", "error", {}, 1),
        ("failed", "exited", {"exit_code": 0}, 1),
        ("failed", "exited", {"signal": "SIGTERM"}, 143),
        ("failed", "exited", {"signal": "SIGWINCH"}, 1),
        ("failed", "timed_out", {"signal": "SIGKILL"}, 124),
        ("failed", "timed_out", {"exit_code": 7}, 124),
        ("canceled", "canceled", {"signal": "SIGTERM"}, 130),
        ("lost", "lost", {}, 126),
    ],
)
def test_codes(state: str, reason: str, rest: dict[str, Any], code: int) -> None:
    outcome = {"state": state, "reason": reason, "exit_code": None, "signal": None, **rest}
    assert of_outcome(outcome) == code
