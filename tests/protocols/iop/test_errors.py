"""Codes, statuses, closes."""

from __future__ import annotations

import pytest

from fleetgate.core import errors as core
from fleetgate.protocols.api import Close
from fleetgate.protocols.iop.errors import STATUS, Refused, close_with, end_call, of_refusal

PAGE = {
    "protocol_violation": 9,
    "unauthenticated": 16,
    "invalid_argument": 3,
    "not_found": 5,
    "session_not_found": 5,
    "conflict": 6,
    "replaced": 10,
    "unsupported_input": 12,
    "unsupported_adapter": 12,
    "resource_exhausted": 8,
    "unavailable": 14,
    "workspace_outside_root": 7,
    "internal": 13,
}


OURS = {"not_allowed": 7}


def test_the_table_is_the_pages_and_what_it_has_no_word_for() -> None:
    assert {**PAGE, **OURS} == STATUS


def test_who_only_looks_is_not_told_that_its_run_is_there() -> None:
    """ALREADY_EXISTS, as for a start that is repeated, would have it attach."""
    refused = of_refusal(core.NotAllowed("look, and start nothing"))
    assert end_call(refused).status == 7
    assert str(refused) == "not_allowed: look, and start nothing"


def test_every_refusal_of_the_core_has_a_code_of_the_page() -> None:
    kinds = core.Refusal.__subclasses__()
    assert len(kinds) > 10
    for kind in kinds:
        refused = of_refusal(kind("why"))
        assert refused.code in STATUS
        assert refused.message == "why"
        same = kind.code in STATUS
        assert (refused.code == kind.code) is same


def test_a_refusal_that_is_not_known_is_internal() -> None:
    class Odd(core.Refusal):
        code = "odd"

    try:
        assert of_refusal(Odd("x")).code == "internal"
    finally:
        del Odd


@pytest.mark.limit("protocols/iop/errors.LONGEST")
def test_a_long_text_is_cut() -> None:
    assert len(str(Refused("internal", "x" * 10_000))) < 1100


@pytest.mark.parametrize(
    ("code", "close"), [("replaced", 4002), ("unavailable", 1001), ("protocol_violation", 1008)]
)
def test_a_link_ends_with_the_status_or_the_close_code(code: str, close: int) -> None:
    assert close_with(code, "wäre", retry=False) == Close(close, "w?re", False, PAGE[code])
    assert len(close_with(code, "x" * 500).reason) == 120


def test_a_call_ends_well_or_with_its_refusal() -> None:
    assert end_call() == Close(1000, "", status=0)
    assert end_call(Refused("not_found", "no run")) == Close(1008, "not_found: no run", status=5)
