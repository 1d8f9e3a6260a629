"""`gateway fake agency-daemon`: an AgencyProxy daemon without agents."""

from __future__ import annotations

import argparse
import os

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.options import (
    Parser,
    add_common,
    add_script,
    around_of,
    check_entry,
    script_of,
    settings_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.gateway.fakes.working import ALL_INPUTS, Playing, worker
from fleetgate.protocols import agency

NAME = "agency-daemon"


def make_parser() -> Parser:
    """The parser of its command line."""
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description="Plays an AgencyProxy daemon. Without a script every run says its prompt and "
        "succeeds.",
    )
    parser.add_argument(
        "--socket",
        required=True,
        metavar="PATH",
        help="where it listens; a missing directory is made",
    )
    add_script(parser)
    add_common(parser, agency.ADAPTER.northbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    settings = settings_of(agency.ADAPTER.northbound.settings, arguments.settings)
    address = f"unix:{os.path.abspath(arguments.socket)}"
    entry = Entry("north", "client", "agency", address, True, settings)
    check_entry("--socket", entry)
    # Nothing is kept, as the genuine daemon keeps nothing across its own restart.
    around = around_of(NAME, entry, "memory:", arguments, ALL_INPUTS)
    return worker(around, Playing(script_of(arguments)))
