"""`gateway fake agency-client`: a GUI, steered by JSON lines."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.frontend import FrontEnd
from fleetgate.gateway.fakes.lines import LineReader, LineWriter
from fleetgate.gateway.fakes.operations import CONTROLLER
from fleetgate.gateway.fakes.options import add_common, check_reachable, settings_of
from fleetgate.gateway.fakes.running import run_fake
from fleetgate.gateway.fakes.small import Small
from fleetgate.gateway.logs import Log
from fleetgate.protocols import agency

NAME = "agency-client"


def make_parser() -> argparse.ArgumentParser:
    """The parser of its command line."""
    parser = argparse.ArgumentParser(
        prog=f"gateway fake {NAME}",
        description="Plays the client of an AgencyProxy daemon; operations are JSON lines.",
    )
    parser.add_argument("--socket", required=True, metavar="PATH", help="the daemon's socket")
    parser.add_argument("--state", metavar="DIR", help="keep what was journaled there")
    add_common(parser, agency.ADAPTER.southbound.settings)
    return parser


def run(argv: Sequence[str]) -> int:
    """Run it; answers its exit code."""
    arguments = make_parser().parse_args(argv)
    settings = settings_of(agency.ADAPTER.southbound.settings, arguments.settings)
    address = f"unix:{os.path.abspath(arguments.socket)}"
    check_reachable("--socket", address)
    entry = Entry("south", "daemon", "agency", address, False, settings)
    return run_fake(entry, NAME, journal_of(arguments.state), Log(arguments.log_level), _serve)


def journal_of(state: str | None) -> str:
    """The journal in a state directory, which is made if it is missing; in memory without one."""
    if state is None:
        return "memory:"
    os.makedirs(state, mode=0o700, exist_ok=True)
    return f"sqlite:{os.path.abspath(state)}/journal.db"


async def _serve(small: Small, writer: LineWriter) -> None:
    await FrontEnd(small, LineReader(), writer, CONTROLLER).serve()
