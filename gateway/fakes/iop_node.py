"""`gateway fake iop-node`: a node, which with --exec really executes commands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

import attrs

from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.options import (
    GivenToken,
    Parser,
    add_common,
    add_script,
    add_tls,
    add_token,
    around_of,
    check_entry,
    script_of,
    settings_of,
    tls_of,
)
from fleetgate.gateway.fakes.running import Peer
from fleetgate.gateway.fakes.small import LOCAL
from fleetgate.gateway.fakes.working import ALL_INPUTS, Playing, worker
from fleetgate.protocols import iop

if TYPE_CHECKING:
    from fleetgate.gateway.local.pool import LocalPool

NAME = "iop-node"

_PLAY_IT: Final = ", or start it without --exec: then it plays whatever comes"


def make_parser() -> Parser:
    """The parser of its command line."""
    parser = Parser(
        prog=f"gateway fake {NAME}",
        description="Plays a node. With --exec it really executes commands, and the profiles of "
        "what its edge configures. Without it, and without a script, every run says its input "
        "and succeeds.",
    )
    parser.add_argument("--connect", required=True, metavar="URL", help="the edge")
    add_token(parser, metavar="T", help="what is shown to the edge", required=True)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--exec", action="store_true", dest="execute")
    add_script(how)
    add_tls(parser)
    add_common(parser, iop.ADAPTER.northbound.settings)
    return parser


def make(arguments: argparse.Namespace) -> Peer:
    """The fake that its options describe.

    Raises: `BadOption`.
    """
    settings = settings_of(iop.ADAPTER.northbound.settings, arguments.settings)
    tls, script = tls_of(arguments), script_of(arguments)
    token = GivenToken(value=arguments.token)
    entry = Entry("north", "edge", "iop", arguments.connect, False, settings, tls, token)
    check_entry("--connect", entry)
    pool = _pool() if arguments.execute else None
    inputs = ALL_INPUTS if pool is None else pool.inputs
    around = around_of(NAME, entry, "memory:", arguments, inputs)
    if pool is not None:
        around = attrs.evolve(around, advice=_PLAY_IT)
    return worker(around, Playing(script, pool=pool, hears=False))


def _pool() -> LocalPool:
    # Imported here: whoever plays runs needs nothing of profiles and models.
    from fleetgate.gateway.local.pool import LocalPool

    return LocalPool(LOCAL, ("cli",))
