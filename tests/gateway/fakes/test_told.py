"""A journal that tells what is written to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core.journal.api import Journal, PutNote
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.journal.testing import CHECKS, Check
from fleetgate.gateway.fakes.told import ToldJournal


def test_it_is_told_once_it_is_durable_and_before_whoever_has_asked() -> None:
    heard: list[object] = []

    async def main() -> None:
        async with open_memory_journal() as kept:
            journal = ToldJournal(kept, heard.extend)
            note = PutNote("space", "key", b"value")
            journal.enqueue([note], lambda error: heard.append(error))
            assert heard == []
            await wait_all_tasks_blocked()
            assert heard == [note, None]
            await journal.commit([note])
            assert heard == [note, None, note]
            assert await journal.notes("space") == {"key": b"value"}

    trio.run(main)


@pytest.mark.parametrize("check", CHECKS)
async def test_it_is_a_journal_like_the_one_that_it_stands_before(check: Check) -> None:
    @asynccontextmanager
    async def opened(name: str) -> AsyncGenerator[Journal]:
        async with open_memory_journal() as kept:
            yield ToldJournal(kept, lambda writes: None)

    await check(opened)
