"""`gateway fake rvbox-server`: a server of host daemons, steered by JSON lines."""

from __future__ import annotations

import argparse

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.controlling import controller
from fleetgate.gateway.fakes.options import (
    Parser,
    add_common,
    add_state,
    add_tls,
    add_token,
    around_of,
    check_entry,
    grants_of,
    journal_of,
    settings_of,
    tls_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.protocols import rvbox

NAME = "rvbox-server"


def make_parser() -> Parser:
    """The parser of its command line."""
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description="Plays an rvbox server; operations are JSON lines.",
    )
    parser.add_argument("--listen", required=True, metavar="URL", help="ws://HOST:PORT/agent")
    add_token(
        parser,
        metavar="T=CLIENT_ID",
        help="let in who shows T, as CLIENT_ID and nobody else; repeatable",
        repeated=True,
    )
    add_state(parser)
    add_tls(parser)
    add_common(parser, rvbox.ADAPTER.southbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    settings = settings_of(rvbox.ADAPTER.southbound.settings, arguments.settings)
    tls, grants = tls_of(arguments), grants_of("--token", arguments.token)
    address = arguments.listen
    entry = Entry("south", "hosts", "rvbox", address, True, settings, tls, tokens=grants)
    check_entry("--listen", entry)
    return controller(around_of(NAME, entry, journal_of(arguments.state), arguments))
