"""The measured table as it comes with the program. That it is the page's:
tests/tools/test_reference.py."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.fidelity.cli import all_columns
from fleetgate.gateway.fidelity.kept import kept, read_data, to_data
from fleetgate.gateway.fidelity.verdict import Verdict

_NAMES = st.text(min_size=1, max_size=8)


@given(
    st.dictionaries(_NAMES, st.dictionaries(_NAMES, st.sampled_from(Verdict), min_size=1)),
)
def test_a_table_is_read_as_it_was_written(table: dict[str, dict[str, Verdict]]) -> None:
    assert read_data(to_data(table)) == table


def test_a_row_is_a_line() -> None:
    table = {"B": {"x": Verdict.DROPPED}, "A": {"y": Verdict.CARRIED, "x": Verdict.CONVERTED}}
    text = to_data(table)
    assert json.loads(text) == {"columns": ["x", "y"], "rows": {"A": "~=", "B": "· "}}
    assert [line.strip() for line in text.splitlines()[3:5]] == ['"A": "~=",', '"B": "· "']


def test_what_comes_with_the_program_has_every_bridge() -> None:
    assert {column for row in kept().values() for column in row} == set(all_columns())
