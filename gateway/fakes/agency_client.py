"""`gateway fake agency-client`: a GUI, steered by JSON lines."""

from __future__ import annotations

import argparse
import os

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.controlling import controller
from fleetgate.gateway.fakes.options import (
    Parser,
    add_common,
    add_state,
    around_of,
    check_entry,
    journal_of,
    settings_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.protocols import agency

NAME = "agency-client"


def make_parser() -> Parser:
    """The parser of its command line."""
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description="Plays the client of an AgencyProxy daemon; operations are JSON lines.",
    )
    parser.add_argument("--socket", required=True, metavar="PATH", help="the daemon's socket")
    add_state(parser)
    add_common(parser, agency.ADAPTER.southbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    settings = settings_of(agency.ADAPTER.southbound.settings, arguments.settings)
    address = f"unix:{os.path.abspath(arguments.socket)}"
    entry = Entry("south", "daemon", "agency", address, False, settings)
    check_entry("--socket", entry)
    return controller(around_of(NAME, entry, journal_of(arguments.state), arguments))
