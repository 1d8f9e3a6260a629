"""Errors, and what the two sides act on (W 6.1)."""

import pytest

from fleetgate.core.json import Json
from fleetgate.protocols.kodelet import errors
from fleetgate.protocols.kodelet.errors import RpcError


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"reason": " run_not_active "}, "run_not_active"),
        ({"reason": "future"}, ""),
        ({"reason": 1}, ""),
        ("run_not_active", ""),
        (None, ""),
    ],
)
def test_reasons_are_trimmed_and_unknown_ones_are_none(data: Json, reason: str) -> None:
    assert RpcError(-32002, "m", data).reason == reason


@pytest.mark.parametrize(
    ("code", "reason", "gone", "unknown"),
    [
        (-32002, "", True, True),
        (-32002, "run_not_active", True, False),
        (-32002, "runner_not_found", False, True),
        (-32000, "run_not_active", False, False),
    ],
)
def test_what_a_stale_error_means(code: int, reason: str, gone: bool, unknown: bool) -> None:
    error = errors.with_reason(code, "m", reason)
    assert errors.is_gone(error) is gone
    assert errors.is_unknown_runner(error) is unknown


def test_invalid_params() -> None:
    assert errors.invalid("x") == RpcError(-32602, "x")
