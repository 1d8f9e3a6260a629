"""What becomes of a request (case 23)."""

from typing import Any

import pytest

from fleetgate.protocols.api import Report, Steps
from fleetgate.protocols.json_text import Malformed
from fleetgate.protocols.kodelet import errors, wire
from fleetgate.protocols.kodelet.handling import Refused, check, handle, read_params
from fleetgate.protocols.kodelet.peer import Called, Peer
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.testing import ask, said


def asked(params: Any = None) -> tuple[Peer, Called]:
    peer = Peer("runner", RunnerSettings())
    peer.receive(ask("s:1", "x", params))
    called = peer.take()
    assert isinstance(called, Called)
    return peer, called


def test_case_23_a_handler_that_raises_is_an_internal_error_and_the_link_lives() -> None:
    peer, called = asked()

    def fail(called: Called) -> Steps:
        raise KeyError("a secret")

    steps = handle(peer, called, fail)
    assert steps == (Report("kodelet_handler_fault", "x: KeyError"),)
    assert said(peer.flush()) == [
        {
            "id": "s:1",
            "error": {"code": -32603, "message": "runner rpc handler panic: KeyError"},
        }
    ]
    peer.receive(ask("s:1", "x"))
    assert peer.take() == Called("s:1", "x", None)


def test_case_23_without_a_handler_no_method_is_found() -> None:
    peer, called = asked()
    handle(peer, called, None)
    (answer,) = said(peer.flush())
    assert answer["error"] == {"code": -32601, "message": "rpc method not found"}


@pytest.mark.parametrize(
    ("error", "code"),
    [(Refused(errors.NOT_READY), -32000), (Malformed("expected an array"), -32602)],
)
def test_a_refusal_is_an_answer(error: Exception, code: int) -> None:
    peer, called = asked()

    def refuse(called: Called) -> Steps:
        raise error

    assert handle(peer, called, refuse) == ()
    (answer,) = said(peer.flush())
    assert answer["error"]["code"] == code


def test_params_that_are_null_or_absent() -> None:
    assert read_params(wire.RunClose, Called("a", "x", None)) == wire.RunClose()
    assert read_params(wire.RunClose, Called("a", "x", wire.ABSENT)) == wire.RunClose()
    with pytest.raises(Refused):
        read_params(wire.RunClose, Called("a", "x", wire.ABSENT), errors.NO_PARAMS)


def test_no_error_is_no_refusal() -> None:
    check(None)
