"""A hub behind an admin socket, and the command line in a thread beside it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import trio

from fleetgate.core.hub import Hub
from fleetgate.gateway.admin.api import Api
from fleetgate.gateway.admin.client import AdminClient
from fleetgate.gateway.admin.server import open_admin
from fleetgate.gateway.cli import main
from fleetgate.gateway.render import Line


@pytest.fixture
def drained() -> trio.Event:
    return trio.Event()


@pytest.fixture
def status() -> Line:
    """What the gateway says of itself."""
    journal = {"url": "sqlite:/j.db", "items": 2, "bytes": 300, "failing": None}
    return {"name": "gw", "journal": journal, "entries": [], "counters": {}}


@pytest.fixture
async def admin(hub: Hub, tmp_path: Path, drained: trio.Event, status: Line) -> AsyncIterator[str]:
    """The address of a gateway's admin socket."""

    def fail(fault: Exception) -> None:
        raise fault

    names = map(str, itertools.count(1))
    api = Api(hub, lambda: status, drained.set, lambda: next(names))
    async with open_admin(f"unix:{tmp_path}/own/s") as server, trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, api.handle, fail)
        yield server.address
        nursery.cancel_scope.cancel()


@pytest.fixture
def client(admin: str) -> AdminClient:
    return AdminClient(admin)


Command = Callable[..., Awaitable[int]]


@pytest.fixture
def command(admin: str) -> Command:
    """Runs `gateway WORDS --admin ADDRESS` and answers its exit code."""

    async def run(name: str, *words: str) -> int:
        argv = [name, "--admin", admin, *words]
        return await trio.to_thread.run_sync(main, argv)

    return run
