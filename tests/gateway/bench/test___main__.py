"""`python -m fleetgate.gateway.bench`."""

from __future__ import annotations

import subprocess
import sys


def test_it_is_the_same_command() -> None:
    command = [sys.executable, "-P", "-m", "fleetgate.gateway.bench", "--help"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0
    assert ran.stdout.startswith("usage: gateway bench")
