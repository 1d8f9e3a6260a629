"""Our own edge and node as targets, in virtual time: calls of EdgeControl have memory links, too."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fakes.options import GivenToken
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.proving import open_controller
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.target import Wants, open_target

TOKEN = "tck"


@pytest.fixture
async def edge() -> AsyncIterator[Runner]:
    """The kit for edges, at ours."""
    kit, address = kit_of("iop", "edge"), "memory:edge"
    settings = adapters(())["iop"].southbound.settings(control=True, controllers=("*",))
    tokens = (Grant(GivenToken(value=TOKEN), "node-1"),)
    entry = Entry("south", "nodes", "iop", address, True, settings, tokens=tokens)
    given = kit.given()
    async with (
        open_controller(entry),
        open_target(kit, address, kit.options(given), Wants({})) as target,
    ):
        yield Runner(kit, target, given)
