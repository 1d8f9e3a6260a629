"""The journal in memory passes what every journal passes."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio.testing

from fleetgate.core.journal.api import JournalFailing, PutNote
from fleetgate.core.journal.checks_kept import check_forgotten
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.journal.testing import CHECKS, Check, check_failing


@pytest.mark.parametrize("check", [*CHECKS, check_forgotten])
async def test_memory(check: Check) -> None:
    await check(lambda name: open_memory_journal())


async def test_memory_while_it_fails(autojump_clock: trio.testing.MockClock) -> None:
    opened: list[MemoryJournal] = []

    @asynccontextmanager
    async def open_journal(name: str) -> AsyncGenerator[MemoryJournal]:
        async with open_memory_journal() as journal:
            opened.append(journal)
            yield journal

    def fail(on: bool) -> None:
        for journal in opened:
            journal.fail("the disk is full" if on else None)

    await check_failing(open_journal, fail)


async def test_a_fault_says_its_reason() -> None:
    async with open_memory_journal() as journal:
        journal.fail("no space left")
        with pytest.raises(JournalFailing, match="no space left"):
            await journal.commit([PutNote("a", "x", b"")])
