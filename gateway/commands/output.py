"""Tables and lines: for people on a terminal, tab-separated into a pipe, JSON if asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeAlias, cast

from fleetgate.gateway.printable import printable
from fleetgate.gateway.render import Line, encode

Column: TypeAlias = tuple[str, Callable[[Line], object]]
"""A heading, and what of a line stands under it."""


def write_json(line: Line) -> None:
    """One JSON object on stdout, at once."""
    sys.stdout.buffer.write(encode(line))
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """A line for people, on stdout."""
    print(printable(text))  # noqa: T201


def write_table(columns: Sequence[Column], lines: Iterable[Line]) -> None:
    """A table: drawn on a terminal, else a line each with tabs between."""
    rows = [[_cell(value(line)) for _, value in columns] for line in lines]
    headings = [heading for heading, _ in columns]
    if sys.stdout.isatty():
        _draw(headings, rows)
        return
    for row in (headings, *rows):
        print("\t".join(row))  # noqa: T201


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, list | tuple):
        return " ".join(map(_cell, cast(Sequence[object], value))) or "-"
    return printable(str(value), newlines=False).replace("\t", " ")


def _draw(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    # Imported here: rich takes longer to load than most commands take to run.
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def moment(nanoseconds: int | None) -> str | None:
    """A time of the gateway as local time, to the second."""
    if nanoseconds is None:
        return None
    return datetime.fromtimestamp(nanoseconds / 1e9).isoformat(" ", "seconds")
