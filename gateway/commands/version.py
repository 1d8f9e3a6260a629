"""`gateway version`."""

from __future__ import annotations

import platform
from argparse import Namespace

from fleetgate import __version__
from fleetgate.gateway.commands import exits
from fleetgate.gateway.commands.output import say, write_json


def run(arguments: Namespace) -> int:
    """Say which version this is, and of what it runs on."""
    if arguments.json:
        write_json({"fleetgate": __version__, "python": platform.python_version()})
    else:
        say(f"fleetgate {__version__} (Python {platform.python_version()})")
    return exits.OK
