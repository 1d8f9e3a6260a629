"""What is promised is said in one place. That docs/guarantees.md says the same:
tests/tools/test_reference.py."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from fleetgate.core.routing import OPERATOR
from fleetgate.gateway.promise import (
    FORGOTTEN,
    LOCAL,
    ORDER,
    PROMISES,
    SHOWINGS,
    UNKNOWN,
    UNKNOWN_AGAIN,
    UNKNOWN_SHOWING,
    promise,
    showing,
)
from fleetgate.gateway.registry import builtin

DOCS = Path(__file__).parents[2] / "docs" / "guarantees.md"


def test_every_protocol_that_ships_has_a_promise_on_either_side() -> None:
    names = {adapter.name for adapter in builtin()}
    assert names | {LOCAL} == set(PROMISES) == set(FORGOTTEN)
    assert names | {OPERATOR} == set(SHOWINGS)


def test_a_journal_in_memory_changes_what_a_restart_means_and_nothing_else() -> None:
    for name in PROMISES:
        durable, forgetful = promise(name, True), promise(name, False)
        assert durable == PROMISES[name]
        assert "forgotten" in forgetful.gateway_restarted
        assert attrs.evolve(forgetful, gateway_restarted=durable.gateway_restarted) == durable
    for name in SHOWINGS:
        kept, gone = showing(name, True), showing(name, False)
        assert kept == SHOWINGS[name]
        assert gone == attrs.evolve(kept, gateway_restarted=UNKNOWN_AGAIN)


def test_nothing_is_promised_for_a_protocol_of_others() -> None:
    assert promise("theirs", True) == promise("theirs", False) == UNKNOWN
    assert showing("theirs", True) == showing("theirs", False) == UNKNOWN_SHOWING


@pytest.mark.parametrize("text", [ORDER, UNKNOWN_AGAIN])
def test_the_guarantees_page_says_what_holds_for_all_in_the_same_words(text: str) -> None:
    """What differs by protocol stands in its tables."""
    assert text in " ".join(DOCS.read_text().split())


def test_a_sentence_can_stand_in_a_table() -> None:
    for each in (*PROMISES.values(), *SHOWINGS.values()):
        assert not [text for text in attrs.astuple(each) if "|" in text or "\n" in text]
