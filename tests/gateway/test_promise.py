"""What is promised is said in one place, and the docs say the same."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from fleetgate.gateway.promise import FORGOTTEN, LOCAL, PROMISES, UNKNOWN, promise
from fleetgate.gateway.registry import builtin

DOCS = Path(__file__).parents[2] / "docs" / "guarantees.md"


def test_every_protocol_that_ships_has_a_promise() -> None:
    names = {adapter.name for adapter in builtin()} | {LOCAL}
    assert names == set(PROMISES) == set(FORGOTTEN)


def test_a_journal_in_memory_changes_what_a_restart_means_and_nothing_else() -> None:
    for name in PROMISES:
        durable, forgetful = promise(name, True), promise(name, False)
        assert durable == PROMISES[name]
        assert "forgotten" in forgetful.gateway_restarted
        assert attrs.evolve(forgetful, gateway_restarted=durable.gateway_restarted) == durable


def test_nothing_is_promised_for_a_protocol_of_others() -> None:
    assert promise("theirs", True) == promise("theirs", False) == UNKNOWN


@pytest.mark.parametrize("name", sorted(PROMISES))
def test_the_guarantees_page_says_it_in_the_same_words(name: str) -> None:
    page = " ".join(DOCS.read_text().split())
    for text in (*attrs.astuple(PROMISES[name]), FORGOTTEN[name]):
        assert text in page, text
