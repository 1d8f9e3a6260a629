"""Tables and lines: for people on a terminal, tab-separated into a pipe, JSON if asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, cast

import attrs

from fleetgate.core.times import SECOND
from fleetgate.gateway.printable import printable
from fleetgate.gateway.render import Line, encode

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNBOUNDED: Final = 100_000
"""Cells of a terminal that no table needs: what it is measured in."""


@attrs.frozen(slots=True)
class Column:
    """A heading, and what of a line stands under it. On a terminal that is too narrow the columns
    of the highest `rank` go first; those of rank 0 stay, and are whole."""

    heading: str
    of: Callable[[Line], object]
    rank: int = 0


def write_json(line: Line) -> None:
    """One JSON object on stdout, at once."""
    sys.stdout.buffer.write(encode(line))
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """A line for people, on stdout."""
    print(printable(text))  # noqa: T201


def write_table(columns: Sequence[Column], lines: Iterable[Line]) -> None:
    """A table: drawn on a terminal, else a line each with tabs between."""
    rows = [[_cell(column.of(line)) for column in columns] for line in lines]
    if sys.stdout.isatty():
        _draw(columns, rows)
        return
    for row in ([column.heading for column in columns], *rows):
        print("\t".join(row))  # noqa: T201


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, list | tuple):
        return " ".join(map(_cell, cast(Sequence[object], value))) or "-"
    return printable(str(value), newlines=False).replace("\t", " ")


def _draw(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    # Imported here: rich takes longer to load than most commands take to run.
    from rich.console import Console

    console = Console()
    kept = list(range(len(columns)))
    left_out: list[str] = []
    while not _fits(console, table := _table([columns[at] for at in kept], _only(rows, kept))):
        worst = max(kept, key=lambda at: columns[at].rank)
        if columns[worst].rank == 0:
            break
        kept.remove(worst)
        left_out.append(columns[worst].heading)
    console.print(table)
    if left_out:
        say(f"(too narrow for: {', '.join(left_out)}; --json has all)")


def _only(rows: Sequence[Sequence[str]], kept: Sequence[int]) -> list[list[str]]:
    return [[row[at] for at in kept] for row in rows]


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column.heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _fits(console: Console, table: Table) -> bool:
    from rich.measure import Measurement

    free = console.options.update(width=_UNBOUNDED)
    return Measurement.get(console, free, table).maximum <= console.width


def moment(nanoseconds: int | None) -> str | None:
    """A time of the gateway as local time, to the second."""
    if nanoseconds is None:
        return None
    return datetime.fromtimestamp(nanoseconds / SECOND).isoformat(" ", "seconds")
