"""Our own edge and node as targets, in virtual time. Calls of EdgeControl are memory links, too."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fakes.options import GivenToken
from fleetgate.gateway.local.script import load_script
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.proving import InProcess, open_controller, open_worker
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.target import Wants, open_target
from fleetgate.gateway.testing import SeenHouse

TOKEN = "tck"
SCRIPT = Path(__file__).parents[4] / "examples" / "tck" / "iop-node.toml"


@pytest.fixture
async def edge() -> AsyncIterator[Runner]:
    """The kit for edges, at ours."""
    async with at_our_edge("memory:edge") as examined:
        yield examined


@pytest.fixture
async def grpc_edge() -> AsyncIterator[Runner]:
    """The kit for edges, at ours, over real gRPC and so in real time."""
    async with at_our_edge("grpc://127.0.0.1:0") as examined:
        yield examined


@asynccontextmanager
async def at_our_edge(where: str) -> AsyncGenerator[Runner, None]:
    kit, seen = kit_of("iop", "edge"), SeenHouse()
    settings = adapters(())["iop"].southbound.settings(control=True, controllers=("*",))
    tokens = (Grant(GivenToken(value=TOKEN), "node-1"),)
    entry = Entry("south", "nodes", "iop", where, True, settings, tokens=tokens)
    given = kit.given()
    async with open_controller(entry, seen):
        address = str(seen.entries["nodes"].named("listening")[0])
        async with open_target(kit, address, kit.options(given), Wants({})) as target:
            yield Runner(kit, target, given)


@pytest.fixture
async def node(folder: Path) -> AsyncIterator[Runner]:
    """The kit for nodes, at ours."""
    kit, address = kit_of("iop", "node"), "memory:node"
    settings = adapters(())["iop"].northbound.settings()
    token = GivenToken(value=TOKEN)
    entry = Entry("north", "edge", "iop", address, False, settings, token=token)
    given, script = kit.given(token=TOKEN), load_script(str(SCRIPT))
    async with trio.open_nursery() as nursery:
        own = InProcess(nursery, partial(open_worker, entry, script, folder))
        async with open_target(kit, address, kit.options(given), Wants({})) as target:
            await own.ensure()
            yield Runner(kit, target, given, started=own)
        nursery.cancel_scope.cancel()
