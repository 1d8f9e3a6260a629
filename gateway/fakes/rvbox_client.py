"""`gateway fake rvbox-client`: a host daemon, which with --exec really executes commands."""

from __future__ import annotations

import argparse
import os

from fleetgate.core.worker import InputKind
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.options import (
    Parser,
    add_common,
    add_script,
    add_state,
    add_tls,
    around_of,
    check_entry,
    journal_of,
    script_of,
    settings_of,
    tls_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.gateway.fakes.sides import Playing, worker
from fleetgate.gateway.local.launch import available_shells
from fleetgate.protocols import rvbox

NAME = "rvbox-client"


def make_parser() -> Parser:
    """The parser of its command line."""
    settings = rvbox.ADAPTER.northbound.settings()
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description="Plays an rvbox host daemon. With --exec it really executes commands. Without "
        "it, and without a script, every command says its own line and succeeds.",
    )
    parser.add_argument("--connect", required=True, metavar="URL", help="the server")
    parser.add_argument("--client-id", required=True, metavar="ID")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--exec", action="store_true", dest="execute")
    add_script(how)
    parser.add_argument("--max-running", type=int, default=settings.max_running, metavar="N")
    parser.add_argument("--max-queued", type=int, default=settings.max_queued, metavar="N")
    add_state(parser, required=True)
    add_tls(parser)
    add_common(parser, rvbox.ADAPTER.northbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    settings = settings_of(
        rvbox.ADAPTER.northbound.settings,
        arguments.settings,
        client_id=arguments.client_id,
        max_running=arguments.max_running,
        max_queued=arguments.max_queued,
        daemon_cwd=os.getcwd(),
        shells=list(available_shells()),
    )
    tls, script = tls_of(arguments), script_of(arguments)
    entry = Entry("north", "server", "rvbox", arguments.connect, False, settings, tls)
    check_entry("--connect", entry)
    inputs = frozenset({InputKind.SHELL})
    around = around_of(NAME, entry, journal_of(arguments.state), arguments, inputs)
    playing = Playing(
        script,
        execute=arguments.execute,
        state=arguments.state,
        max_running=settings.max_running,
    )
    return worker(around, playing)
