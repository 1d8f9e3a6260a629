"""Processes that outlive a crash of the gateway while no run speaks of them: written down in a
directory, a file each, so that the next gateway can end them."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fleetgate.core.ids import RunId
from fleetgate.gateway.local.process import ProcessGroup, kill_recorded

NO_RUN = RunId("")


class LeftBehind:
    """A directory with a file for each process that lives."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def end_all(self) -> int:
        """Kill what an earlier process left, and forget it. Only what is proven to be the same
        process is killed. Answers how many were.

        Raises: `OSError`.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        killed = 0
        for file in self._directory.iterdir():
            try:
                note = json.loads(file.read_text())
            except (ValueError, RecursionError):  # a crash cut it short, or it is no file of ours
                note = None
            killed += kill_recorded(NO_RUN, note)
            file.unlink()
        return killed

    @contextmanager
    def noted(self, group: ProcessGroup) -> Generator[None, None, None]:
        """The process is written down while the block lasts.

        Raises: `OSError`.
        """
        file = self._directory / str(group.pid)
        file.write_text(json.dumps(group.note()))
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
