"""An SQLite journal that works in the event loop. Where a thread does, virtual time passes
meanwhile: a clock that jumps when all tasks wait cannot tell a busy disk from one that is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest
import trio

from fleetgate.core.journal import sqlite
from fleetgate.core.journal.api import JournalConflict
from fleetgate.core.journal.queued import QueuedJournal
from fleetgate.core.journal.rows import Row
from fleetgate.core.journal.sqlite import SqliteJournal

T = TypeVar("T")


class JournalInTurn(SqliteJournal):
    """The genuine one but for who makes its commits: the loop does, one after the other."""

    _attempt = QueuedJournal._attempt

    async def store(self, groups: Sequence[Sequence[Row]]) -> Mapping[int, JournalConflict]:
        await trio.lowlevel.checkpoint()
        return self.write(groups)


async def _run_sync(function: Callable[..., T], *args: Any, **_: Any) -> T:
    await trio.lowlevel.checkpoint_if_cancelled()
    await trio.lowlevel.cancel_shielded_checkpoint()
    return function(*args)


def work_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `open_sqlite_journal` open such journals, and nothing be done in a thread."""
    monkeypatch.setattr(sqlite, "SqliteJournal", JournalInTurn)
    monkeypatch.setattr(trio.to_thread, "run_sync", _run_sync)
