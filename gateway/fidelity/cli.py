"""`gateway fidelity`: try every bridge, and say what became of each thing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

import trio
from trio.testing import MockClock

from fleetgate.gateway.command_line import Intermixed
from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.fidelity.bridge import open_bridge, open_direct
from fleetgate.gateway.fidelity.report import (
    Findings,
    Table,
    forgetful,
    read_markdown,
    table_of,
    to_lines,
    to_markdown,
    to_text,
    worse,
)
from fleetgate.gateway.fidelity.trial import Trial
from fleetgate.gateway.fidelity.verdict import Finding
from fleetgate.gateway.registry import adapters

WORSE: Final = 1
"""The exit code where a bridge does less than the page says."""

REMEDY: Final = (
    "what became better or is new goes onto the page by gateway fidelity --markdown, and from "
    "there into the program by just tables; what became worse needs an ADR that says why"
)


def run(argv: Sequence[str]) -> int:
    """Run it; answers its exit code."""
    parser = Intermixed(
        prog="gateway fidelity",
        description="Send everything that can be said through a bridge, and say what arrives.",
    )
    known = ", ".join(adapters(()))
    parser.add_argument("north", nargs="?", metavar="NORTH", help=f"of controllers: {known}")
    parser.add_argument("south", nargs="?", metavar="SOUTH", help="of workers; none: all bridges")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one object for each value")
    form.add_argument("--markdown", action="store_true", help="the page docs/fidelity.md")
    form.add_argument("--check", metavar="FILE", help="compare with a page; exit code 1: worse")
    try:
        given = parser.parse_args(argv)
        columns = _columns(parser, given.north, given.south)
        page = None if given.check is None else _page(parser, given.check)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    findings = {column: measure(column) for column in columns}
    if page is not None:
        return _check(page, findings)
    if given.json:
        for line in to_lines(findings):
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    else:
        text = to_markdown(findings) if given.markdown else to_text(findings) + "\n"
        sys.stdout.write(text)
    return 0


def _page(parser: argparse.ArgumentParser, file: str) -> Table:
    try:
        return read_markdown(Path(file).read_text())
    except (OSError, ValueError) as error:
        parser.error(f"{file} is no page that `gateway fidelity --markdown` has made: {error}")


def _check(page: Table, findings: Findings) -> int:
    table = table_of(findings)
    lines = [*worse(page, table), *forgetful(table)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.write(f"{len(lines)} worse: {REMEDY}\n" if lines else "none is worse\n")
    return WORSE if lines else 0


def _columns(parser: argparse.ArgumentParser, north: str | None, south: str | None) -> list[str]:
    for name in (north, south):
        if name is not None and name not in adapters(()):
            parser.error(f"no protocol is named {name}; {nearest(name, adapters(()))}")
    if north is not None and south is None:
        parser.error("name two protocols, NORTH and SOUTH, or none for all bridges")
    return all_columns() if north is None else [f"{north}>{south}"]


def all_columns() -> list[str]:
    """Every protocol by itself, and every bridge."""
    names = sorted(adapters(()))
    return [*names, *(f"{north}>{south}" for north, south in product(names, names))]


def measure(column: str) -> list[Finding]:
    """Try the whole corpus on one bridge, or on a protocol by itself, in virtual time."""
    return trio.run(_measure, column, clock=MockClock(autojump_threshold=0))


async def _measure(column: str) -> list[Finding]:
    north, bridged, south = column.partition(">")
    async with open_bridge(north, south) if bridged else open_direct(north) as bridge:
        return await Trial(bridge).run()
