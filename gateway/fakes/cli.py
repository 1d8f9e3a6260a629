"""The command line of `gateway fake`: which peer to play."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from fleetgate.gateway.config_reader import nearest
from fleetgate.gateway.printable import printable

FAKES: Final = {
    "agency-client": "a GUI, in front of a daemon",
    "agency-daemon": "a daemon without agents",
    "iop-edge": "an edge of nodes, with its control service",
    "iop-node": "a node; with --exec it really executes commands",
    "kodelet-control-plane": "what `kodelet serve` is to its runners",
    "kodelet-runner": "a runner with a few tools to try",
    "rvbox-client": "a host daemon; with --exec it really executes commands",
    "rvbox-server": "a server of host daemons",
}
"""Each fake, in a few words. Its module has the same name, and `make_parser` and `make`: its
options, and the fake that they describe. Only the one that is wanted is imported."""

BAD_ARGUMENTS: Final = 2


def run(argv: Sequence[str]) -> int:
    """Run a fake; answers its exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        sys.stdout.write(_usage())
        return 0 if argv else BAD_ARGUMENTS
    if argv[0] not in FAKES:
        hint = nearest(argv[0], FAKES)
        sys.stderr.write(f"gateway fake: no fake is named {argv[0]}; {hint}\n")
        return BAD_ARGUMENTS
    from fleetgate.gateway.fakes.options import BadOption, CannotBeHad
    from fleetgate.gateway.fakes.running import CANNOT_START, run_peer

    module = module_of(argv[0])
    try:
        return run_peer(module.make(module.make_parser().parse_args(argv[1:])))
    except BadOption as error:
        sys.stderr.write(printable(f"gateway fake {argv[0]}: {error}\n"))
        return CANNOT_START if isinstance(error, CannotBeHad) else BAD_ARGUMENTS
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)


def module_of(name: str) -> ModuleType:
    """The module of a fake."""
    return import_module(f"fleetgate.gateway.fakes.{name.replace('-', '_')}")


def _usage() -> str:
    lines = "".join(f"  {name:<22} {words}\n" for name, words in FAKES.items())
    return (
        "usage: gateway fake NAME …\n\nPlays one side of a protocol, steered by JSON lines.\n\n"
        f"{lines}\n`gateway fake NAME --help` says more of each.\n"
    )
