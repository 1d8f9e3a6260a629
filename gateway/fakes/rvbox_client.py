"""`gateway fake rvbox-client`: a host daemon, which with --exec really executes commands."""

from __future__ import annotations

import argparse
import os
import re
from functools import partial

from fleetgate.core.worker import InputKind
from fleetgate.gateway.command_line import count
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.options import (
    MOST,
    BadOption,
    Parser,
    add_common,
    add_script,
    add_state,
    add_tls,
    add_token,
    around_of,
    check_entry,
    journal_of,
    script_of,
    settings_of,
    tls_of,
    token_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.gateway.fakes.working import Playing, worker
from fleetgate.gateway.local.launch import available_shells
from fleetgate.protocols import rvbox
from fleetgate.protocols.rvbox.limits import is_client_id

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
    parser.add_argument(
        "--max-running",
        type=partial(count, least=1, most=MOST),
        default=settings.max_running,
        metavar="N",
    )
    parser.add_argument(
        "--max-queued", type=partial(count, most=MOST), default=settings.max_queued, metavar="N"
    )
    add_token(parser, metavar="T", help="what is shown to the server")
    add_state(parser, required=True)
    add_tls(parser)
    add_common(parser, rvbox.ADAPTER.northbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    if not is_client_id(arguments.client_id):
        raise BadOption("--client-id: expected 1 to 128 printable ASCII characters without spaces")
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
    token = token_of(arguments.token, _check_token)
    entry = Entry("north", "server", "rvbox", arguments.connect, False, settings, tls, token)
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


def _check_token(token: str) -> None:
    """What a header can carry behind the word Bearer."""
    if not re.fullmatch(r"[!-~]+", token):
        raise ValueError("expected one or more visible ASCII characters and no space")
