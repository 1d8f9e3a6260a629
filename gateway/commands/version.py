"""`gateway version`. Asked for by scripts at each start, so it imports next to nothing."""

from __future__ import annotations

import json
import platform
import sys
from argparse import Namespace

from fleetgate import __version__
from fleetgate.gateway.commands import exits


def run(arguments: Namespace) -> int:
    """Say which version this is, and of what it runs on."""
    python = platform.python_version()
    if arguments.json:
        text = json.dumps({"fleetgate": __version__, "python": python})
    else:
        text = f"fleetgate {__version__} (Python {python})"
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    return exits.OK
