"""`python memory_hung.py CONFIG`: a gateway whose commits hang while there is a file that the
environment names in `HUNG`, as an fsync does on a disk that does not answer."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fleetgate.core.journal import tables
from fleetgate.gateway.cli import main

_commit = tables.commit
_hung = Path(os.environ["HUNG"])


def commit(connection: Any, groups: Sequence[Any]) -> Any:
    """As the genuine one, once the disk answers."""
    while _hung.exists():
        time.sleep(0.01)
    return _commit(connection, groups)


tables.commit = commit
sys.exit(main(["serve", "--config", sys.argv[1]]))
