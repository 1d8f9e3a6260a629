"""Refusals: one type each, one stable code each, and none of them without a code."""

from typing import Any

import pytest

from fleetgate.core import errors

CODES = {
    "InvalidArgument": "invalid_argument",
    "RunNotFound": "not_found",
    "SessionNotFound": "session_not_found",
    "WorkerNotFound": "worker_not_found",
    "ApprovalNotFound": "approval_not_found",
    "Conflict": "conflict",
    "RunEnded": "run_ended",
    "UnsupportedInput": "unsupported_input",
    "NotAccepted": "not_accepted",
    "NoRoute": "no_route",
    "Unavailable": "unavailable",
    "Stopping": "stopping",
    "ResourceExhausted": "resource_exhausted",
    "NotAllowed": "not_allowed",
    "Fenced": "fenced",
    "InstanceConflict": "instance_conflict",
    "WorkerFailed": "worker_failed",
}
"""Peers and scripts compare these words: a code may be added, never changed."""


def _refusals() -> dict[str, type[errors.Refusal]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type)
        and issubclass(value, errors.Refusal)
        and value is not errors.Refusal
    }


def test_the_codes_are_the_published_ones() -> None:
    assert {name: kind.code for name, kind in _refusals().items()} == CODES


def test_no_two_refusals_share_a_code() -> None:
    codes = [kind.code for kind in _refusals().values()]
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("kind", _refusals().values(), ids=lambda kind: kind.__name__)
def test_a_refusal_carries_its_sentence(kind: Any) -> None:
    refusal = kind("expected this, that came; do so")
    assert refusal.message == str(refusal) == "expected this, that came; do so"
    assert kind.__doc__


def test_a_refusal_without_a_code_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="subclass of Refusal"):
        errors.Refusal("no code")


def test_an_illegal_transition_is_no_answer_to_anyone() -> None:
    """It is a mistake, not a refusal: it must not reach a peer as one."""
    assert not issubclass(errors.IllegalTransition, errors.Refusal)
