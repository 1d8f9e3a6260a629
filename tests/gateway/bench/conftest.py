"""A gateway between a load host and a load client, all in one process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from fleetgate.core.hub import open_hub
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.bench.subjects import config_text
from fleetgate.gateway.clock import Clock
from fleetgate.gateway.config import parse
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.house import router_of
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenLink
from fleetgate.protocols.api import Opening
from fleetgate.transports.api import Link
from fleetgate.transports.memory import memory_link_pair


class Bridge:
    """The bridge of the bench on memory links: the peers' ends of its two links."""

    def __init__(self, client: Link, host: Link, seen: SeenLink) -> None:
        self.client = client
        self.host = host
        self.seen = seen


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncGenerator[Bridge]:
    async with _open_bridge(tmp_path) as opened:
        yield opened
        assert opened.seen.faults == []


@asynccontextmanager
async def _open_bridge(directory: Path) -> AsyncGenerator[Bridge]:
    known = adapters()
    config = parse(config_text(directory, directory), "gateway.toml", known)
    clock, seen = Clock(), SeenLink()
    client, gui = memory_link_pair()
    host, hosts = memory_link_pair()

    def drive(entry: Entry, link: Link) -> None:
        connection = entry.side(known[entry.protocol]).open(entry.settings)
        driver = Driver(link, connection, hub, clock, seen)
        opening = Opening(entry.name, gateway="gw", instance="1", entropy=bytes(16))
        nursery.start_soon(driver.run, opening)

    async with (
        open_memory_journal() as journal,
        open_hub(journal, router_of(config, known), clock) as hub,
        trio.open_nursery() as nursery,
    ):
        drive(config.north[0], gui)
        drive(config.south[0], hosts)
        yield Bridge(client, host, seen)
        nursery.cancel_scope.cancel()
