"""`gateway fake kodelet-runner`: a runner with a few tools to try."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.named import call_of
from fleetgate.gateway.fakes.options import (
    BadOption,
    Parser,
    add_common,
    add_script,
    add_state,
    add_tls,
    add_token,
    around_of,
    check_entry,
    given,
    journal_of,
    milliseconds,
    script_of,
    settings_of,
    tls_of,
    token_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.gateway.fakes.tools import OFFERED, TOOLS
from fleetgate.gateway.fakes.working import ALL_INPUTS, Playing, worker
from fleetgate.protocols import kodelet
from fleetgate.protocols.kodelet.northbound import RunnerConnection
from fleetgate.protocols.kodelet.openings import no_time
from fleetgate.protocols.kodelet.tools import BASH
from fleetgate.protocols.kodelet.upgrade import BadServer, check_token, websocket_url
from fleetgate.protocols.kodelet.wire import RunOpen

if TYPE_CHECKING:
    from fleetgate.gateway.local.script import Script

NAME = "kodelet-runner"

KEPT_OUTPUT: Final = 16 << 20
"""Bytes of a call's output that make its result: four times what a message may have, for the
tool whose result is too large."""

UPDATE_EVERY: Final = 0
"""An update for everything that a tool says."""

SLOW_OPEN: Final = 2.0
BLOCKED: Final = "blockme"

ONE_WORD: Final = re.compile(r"\^?([A-Za-z_][\w-]*)\$?", re.ASCII)
"""A rule's `match` that names a tool."""

SCRIPTED: Final = "Is played by the script."

COMMANDS: Final = ({"name": "hello", "description": "Greets.", "prompt": "hello, {input.text}"},)


def make_parser() -> Parser:
    """The parser of its command line."""
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description=f"Plays a kodelet runner with the tools {', '.join(OFFERED)}. With a script it "
        "has bash, too, and a tool for each rule whose match is one word, as ^deploy is; all of "
        "its tools are played by the script. Without one, conversations "
        f"whose ids begin with slowopen take {SLOW_OPEN:g} s to open, and the message {BLOCKED} is "
        "blocked.",
    )
    parser.add_argument(
        "--server", required=True, metavar="URL", help="http://HOST:PORT, or the whole ws:// URL"
    )
    add_token(parser, metavar="T", help="what is shown to the control plane")
    parser.add_argument("--workspace", required=True, metavar="DIR")
    parser.add_argument("--name", metavar="N", help="its display name")
    parser.add_argument("--cleanup-timeout-ms", type=milliseconds, metavar="N")
    add_script(parser)
    add_state(parser, required=True)
    add_tls(parser)
    add_common(parser, kodelet.ADAPTER.northbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    script = script_of(arguments)
    settings = settings_of(
        kodelet.ADAPTER.northbound.settings,
        arguments.settings,
        workspace=os.path.realpath(arguments.workspace),
        tools=_tools(script if arguments.script else None),
        commands=list(COMMANDS),
        output_limit=KEPT_OUTPUT,
        update_every=UPDATE_EVERY,
        blocked_messages=[] if arguments.script else [BLOCKED],
        **given(display_name=arguments.name, cleanup_timeout=arguments.cleanup_timeout_ms),
    )
    address, tls = _address(arguments.server), tls_of(arguments)
    token = token_of(arguments.token, check_token)
    entry = Entry("north", "server", "kodelet", address, False, settings, tls, token)
    check_entry("--server", entry)
    if not os.path.isdir(arguments.workspace):
        path = arguments.workspace
        raise BadOption(f"--workspace: expected a directory that is there, got {path}")
    tools = {} if arguments.script else TOOLS
    playing = Playing(script, tools, state=arguments.state, owns=call_of)
    journal = journal_of(arguments.state)
    connect = partial(RunnerConnection, takes=no_time if arguments.script else takes)
    around = around_of(NAME, entry, journal, arguments, ALL_INPUTS)
    return worker(attrs.evolve(around, connect=connect), playing)


def takes(asked: RunOpen) -> float:
    """Seconds that it takes to open a run."""
    return SLOW_OPEN if asked.conversation_id.startswith("slowopen") else 0.0


def _tools(script: Script | None) -> list[dict[str, object]]:
    """The tools as settings have them. A script is matched with the line of a bash call."""
    own = dict.fromkeys(_words(script), SCRIPTED) if script else {}
    tools: list[dict[str, object]] = [
        {"name": name, "description": text}
        for name, text in {**own, **OFFERED}.items()
        if name != BASH.name
    ]
    if script:
        line = {"line": BASH.line}
        tools.append({"name": BASH.name, "description": BASH.description, **line})
    return tools


def _words(script: Script) -> Iterator[str]:
    """The tools that a script names: what its rules look for, where that is a word."""
    for rule in script.rules:
        if found := ONE_WORD.fullmatch(rule.match.pattern):
            yield found[1]


def _address(server: str) -> str:
    if server.startswith(("ws://", "wss://")):
        return server
    try:
        return websocket_url(server)
    except BadServer as error:
        raise BadOption(f"--server: {error}") from None
