"""The whole corpus, on every bridge: it may only get better (docs/fidelity.md)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fleetgate.gateway.fidelity.cli import all_columns, measure
from fleetgate.gateway.fidelity.report import Table, read_markdown, table_of, worse
from fleetgate.gateway.fidelity.verdict import Verdict
from fleetgate.gateway.registry import adapters

PAGE = Path(__file__).parents[3] / "docs" / "fidelity.md"
REMEDY = (
    "what became better or is new: gateway fidelity --markdown > docs/fidelity.md; "
    "what became worse needs an ADR that says why"
)


@cache
def measured(column: str) -> Table:
    return table_of({column: measure(column)})


@cache
def page() -> Table:
    return read_markdown(PAGE.read_text())


def test_the_page_has_every_bridge() -> None:
    assert {column for row in page().values() for column in row} == set(all_columns())


@pytest.mark.parametrize("column", all_columns())
def test_no_bridge_got_worse(column: str) -> None:
    lines = worse(page(), measured(column))
    assert lines == [], "\n".join([*lines, REMEDY])


@pytest.mark.parametrize("protocol", adapters(()))
def test_a_bridge_between_two_ends_of_one_protocol_loses_nothing_that_it_can_say(
    protocol: str,
) -> None:
    alone, bridged = measured(protocol), measured(f"{protocol}>{protocol}")
    said = [row for row, verdicts in alone.items() if verdicts[protocol] is Verdict.CARRIED]
    assert len(said) > 10
    lost = [row for row in said if bridged[row][f"{protocol}>{protocol}"] is not Verdict.CARRIED]
    assert lost == []
