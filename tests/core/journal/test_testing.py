"""`check_journal` makes every check there is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from fleetgate.core.journal import checks_kept, checks_line, testing
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal


def test_no_check_is_forgotten() -> None:
    there = {
        check
        for module in (checks_kept, checks_line)
        for name, check in vars(module).items()
        if name.startswith("check_")
    }
    apart = {checks_kept.check_reopened, checks_kept.check_forgotten, checks_line.check_failing}
    assert set(testing.CHECKS) == there - apart


async def test_all_checks_are_made() -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def open_journal(name: str) -> AsyncGenerator[MemoryJournal]:
        opened.append(name)
        async with open_memory_journal() as journal:
            yield journal

    await testing.check_journal(open_journal, durable=False)
    assert len(set(opened)) >= len(testing.CHECKS)
    with pytest.raises(AssertionError, match="what was kept"):
        await testing.check_journal(open_journal, durable=True)
