"""A hub on a journal in memory, a worker of it, and the operators' API over it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import pytest

from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import HandWorker, hub_on, worker_info
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.admin.api import Api


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


@pytest.fixture
async def worker(hub: Hub) -> HandWorker:
    worker = HandWorker(hub, worker_info())
    await worker.join()
    return worker


@pytest.fixture
def drains() -> list[bool]:
    return []


@pytest.fixture
def api(hub: Hub, drains: list[bool]) -> Api:
    names = map(str, itertools.count(1))
    return Api(hub, lambda: {"name": "gw"}, lambda: drains.append(True), lambda: next(names))
