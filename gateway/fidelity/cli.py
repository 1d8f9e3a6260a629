"""`gateway fidelity`: try every bridge, and say what became of each thing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import product

import trio
from trio.testing import MockClock

from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.fidelity.bridge import open_bridge, open_direct
from fleetgate.gateway.fidelity.report import to_lines, to_markdown, to_text
from fleetgate.gateway.fidelity.trial import Trial
from fleetgate.gateway.fidelity.verdict import Finding
from fleetgate.gateway.registry import adapters

BAD_ARGUMENTS = 2


def run(argv: Sequence[str]) -> int:
    """Run it; answers its exit code."""
    parser = argparse.ArgumentParser(
        prog="gateway fidelity",
        description="Send everything that can be said through a bridge, and say what arrives.",
    )
    known = ", ".join(adapters(()))
    parser.add_argument("north", nargs="?", metavar="NORTH", help=f"of controllers: {known}")
    parser.add_argument("south", nargs="?", metavar="SOUTH", help="of workers; none: all bridges")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one object for each value")
    form.add_argument("--markdown", action="store_true", help="the page docs/fidelity.md")
    try:
        given = parser.parse_args(argv)
        columns = _columns(parser, given.north, given.south)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    findings = {column: measure(column) for column in columns}
    if given.json:
        for line in to_lines(findings):
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    else:
        text = to_markdown(findings) if given.markdown else to_text(findings) + "\n"
        sys.stdout.write(text)
    return 0


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
