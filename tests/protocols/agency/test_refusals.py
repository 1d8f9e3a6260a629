"""Refusals as a daemon words them, and a daemon's errors as refusals."""

import pytest

from fleetgate.core import errors
from fleetgate.core.errors import Refusal
from fleetgate.protocols.agency import refusals, wire
from fleetgate.protocols.agency.testing import make_run

ALL = sorted(
    (kind for kind in Refusal.__subclasses__() if kind.__module__ == errors.__name__),
    key=lambda kind: kind.__name__,
)
INJECT = wire.InjectMessage("r", "b", "k")
DECIDE = wire.DecideApproval("r", "a", wire.ApprovalDecision.DENY, "k")


@pytest.mark.parametrize("kind", ALL)
def test_every_refusal_has_an_answer_to_every_request(kind: type[Refusal]) -> None:
    refusal = kind("the reason")
    for error in (
        refusals.start_refused(refusal),
        refusals.stop_refused(refusal),
        refusals.refused(refusal),
    ):
        assert error.message
        assert error.code is not wire.ErrorCode.NOT_IMPLEMENTED
    for request in (INJECT, DECIDE):
        error_ = refusals.control_refused(request, refusal, make_run())
        assert error_ is not None
        assert error_.message


def test_only_an_approval_that_is_not_awaited_is_left_to_the_caller() -> None:
    spec = make_run().spec
    asking = make_run(spec=type(spec)(spec.input, approvals=True))
    refusal = errors.ApprovalNotFound("no")
    assert refusals.control_refused(DECIDE, refusal, asking) is None


@pytest.mark.parametrize("code", wire.ErrorCode)
def test_every_error_of_a_daemon_is_a_refusal_with_its_text(code: wire.ErrorCode) -> None:
    refusal = refusals.to_refusal(wire.Error(code, "the daemon's words"))
    assert refusal.message == "the daemon's words"
    assert refusal.code


def test_the_texts_of_the_genuine_daemon() -> None:
    """Section 6, to the letter: clients that read them exist."""
    assert refusals.NO_RUN.message == "run does not exist"
    assert refusals.RUN_EXISTS.message == "run already exists"
    assert refusals.STOPPING.message == "AgencyProxy is stopping"
    assert refusals.ALREADY_STOPPING.message == "AgencyProxy is already stopping"
    assert refusals.active_runs(2).message == "AgencyProxy has 2 active run(s)"
    assert refusals.replay_expired(0, 954).message == (
        "requested replay sequence 0 is older than retained sequence 954"
    )
    assert refusals.unsupported("permission", "x").message == "unsupported permission: x"


def test_a_name_in_an_answer_has_a_limit() -> None:
    assert len(refusals.unsupported("provider", "x" * 1_000_000).message) < 300
