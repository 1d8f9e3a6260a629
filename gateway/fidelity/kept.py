"""What was measured, as it comes with the program.

docs/fidelity.md is the page for people; `measured.json` beside this file holds the same table, so
that an installed program knows it. `tools/reference.py` makes it of the page, and a test keeps the
two equal.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final, cast

from fleetgate.gateway.fidelity.report import SIGNS, Table
from fleetgate.gateway.fidelity.verdict import Verdict

FILE: Final = "measured.json"
_NONE: Final = " "
"""Stands where a column has no verdict: nothing was there to be said."""

_VERDICTS: Final = {sign: verdict for verdict, sign in SIGNS.items()}


def to_data(table: Table) -> str:
    """The file's text: the columns' names, and a line for each row with a sign for each column."""
    columns = sorted({column for row in table.values() for column in row})
    rows = [
        f"    {json.dumps(name)}: {json.dumps(_signs(row, columns), ensure_ascii=False)}"
        for name, row in sorted(table.items())
    ]
    return '{{\n  "columns": {},\n  "rows": {{\n{}\n  }}\n}}\n'.format(
        json.dumps(columns), ",\n".join(rows)
    )


def _signs(row: dict[str, Verdict], columns: list[str]) -> str:
    return "".join(SIGNS[row[name]] if name in row else _NONE for name in columns)


def read_data(text: str) -> Table:
    """The table that `to_data` has written."""
    made = json.loads(text)
    columns = cast(list[str], made["columns"])
    return {
        name: {
            column: _VERDICTS[sign]
            for column, sign in zip(columns, signs, strict=True)
            if sign != _NONE
        }
        for name, signs in cast(dict[str, str], made["rows"]).items()
    }


@cache
def kept() -> Table:
    """The table that this program came with."""
    return read_data(files("fleetgate.gateway.fidelity").joinpath(FILE).read_text(encoding="utf-8"))
