"""A hub on a journal in memory, and a worker of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import HandWorker, hub_on, worker_info
from fleetgate.core.journal.memory import open_memory_journal


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


@pytest.fixture
async def worker(hub: Hub) -> HandWorker:
    worker = HandWorker(hub, worker_info())
    await worker.join()
    return worker
