"""The operators' API over a hub."""

from __future__ import annotations

import itertools

import pytest

from fleetgate.core.hub import Hub
from fleetgate.gateway.admin.api import Api


@pytest.fixture
def drains() -> list[bool]:
    return []


@pytest.fixture
def api(hub: Hub, drains: list[bool]) -> Api:
    names = map(str, itertools.count(1))
    entries = [{"entry": "north", "facing": "north"}, {"entry": "hosts", "facing": "south"}]
    status = {"name": "gw", "entries": entries}
    return Api(hub, lambda: status, lambda: drains.append(True), lambda: next(names))
