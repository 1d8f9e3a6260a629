"""`gateway fake iop-edge`: an edge of nodes, with EdgeControl, steered by JSON lines."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.config_files import read_regular
from fleetgate.gateway.fakes import operations as ops
from fleetgate.gateway.fakes.controlling import controller
from fleetgate.gateway.fakes.options import (
    BadOption,
    GivenToken,
    Parser,
    add_common,
    add_state,
    add_tls,
    add_token,
    around_of,
    check_entry,
    check_tokens,
    given,
    journal_of,
    settings_of,
    tls_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.protocols import iop
from fleetgate.protocols.iop.config import read_config

NAME = "iop-edge"
DIGITS: Final = 12
"""Of a token's digest, in the id of a node whose token names none."""

BEYOND: Final = frozenset({ops.Send, ops.CloseInput, ops.SignalOp, ops.Approve})
"""What iop has no message for."""

MAX_CONFIG: Final = 4 << 20
"""Bytes of a configuration: what one message of the protocol may have."""


def make_parser() -> Parser:
    """The parser of its command line."""
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description="Plays an edge, for nodes and for control clients; operations are JSON lines.",
    )
    parser.add_argument("--listen", required=True, metavar="URL", help="grpc://HOST:PORT")
    add_token(
        parser,
        metavar="T[=NODE_ID]",
        help="let in who shows T, as NODE_ID; repeatable",
        repeated=True,
        required=True,
    )
    parser.add_argument(
        "--node-config", metavar="FILE", help="what nodes are sent, as TOML or JSON (.json)"
    )
    add_state(parser)
    add_tls(parser)
    add_common(parser, iop.ADAPTER.southbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    settings = settings_of(
        iop.ADAPTER.southbound.settings,
        arguments.settings,
        control=True,
        controllers=["*"],  # the tokens of a fake are known to whoever has started it
        **given(config=_config(arguments.node_config)),
    )
    tls, grants = tls_of(arguments), nodes_of(arguments.token)
    entry = Entry("south", "nodes", "iop", arguments.listen, True, settings, tls, tokens=grants)
    check_entry("--listen", entry)
    return controller(around_of(NAME, entry, journal_of(arguments.state), arguments), BEYOND)


def nodes_of(words: Sequence[str]) -> tuple[Grant, ...]:
    """Whom each token lets in.

    Raises: `BadOption`, which repeats no token.
    """
    grants: list[Grant] = []
    for word in words:
        token, _, id = word.partition("=")
        if not token:
            raise BadOption("--token: expected T or T=NODE_ID, got no token")
        digest = hashlib.sha256(token.encode()).hexdigest()
        grants.append(Grant(GivenToken(value=token), id or f"node-{digest[:DIGITS]}"))
    check_tokens(grants)
    ids = [grant.id for grant in grants]
    if twice := next((id for id in ids if ids.count(id) > 1), None):
        raise BadOption(f"--token: two tokens have the node id {twice}; each needs its own")
    return tuple(grants)


def _config(path: str | None) -> Any:
    if path is None:
        return None
    import tomllib  # few edges push a configuration

    try:
        text = read_regular(path, MAX_CONFIG).decode()
        table = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadOption(f"--node-config: {path} cannot be read: {why}") from None
    try:
        read_config(table)
    except ValueError as error:
        raise BadOption(f"--node-config: {path}: {error}") from None
    return table
