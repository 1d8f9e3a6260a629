"""The command line of `gateway fake`: which peer to play."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from fleetgate.gateway.config_reader import nearest

FAKES: Final = {
    "agency-client": "fleetgate.gateway.fakes.agency_client",
    "agency-daemon": "fleetgate.gateway.fakes.agency_daemon",
    "iop-edge": "fleetgate.gateway.fakes.iop_edge",
    "iop-node": "fleetgate.gateway.fakes.iop_node",
    "kodelet-control-plane": "fleetgate.gateway.fakes.kodelet_control_plane",
    "kodelet-runner": "fleetgate.gateway.fakes.kodelet_runner",
    "rvbox-client": "fleetgate.gateway.fakes.rvbox_client",
    "rvbox-server": "fleetgate.gateway.fakes.rvbox_server",
}
"""Each fake's module, which has `run(argv) -> int`. Only the one that is wanted is imported."""

BAD_ARGUMENTS: Final = 2


def run(argv: Sequence[str]) -> int:
    """Run a fake; answers its exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        sys.stdout.write(f"usage: gateway fake NAME …\n\nNAME is one of: {', '.join(FAKES)}\n")
        return 0 if argv else BAD_ARGUMENTS
    if argv[0] not in FAKES:
        hint = nearest(argv[0], FAKES)
        sys.stderr.write(f"gateway fake: no fake is named {argv[0]}; {hint}\n")
        return BAD_ARGUMENTS
    from fleetgate.gateway.fakes.options import BadOption

    try:
        return int(import_module(FAKES[argv[0]]).run(argv[1:]))
    except BadOption as error:
        sys.stderr.write(f"gateway fake {argv[0]}: {error}\n")
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    return BAD_ARGUMENTS
