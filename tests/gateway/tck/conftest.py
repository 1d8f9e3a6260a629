"""Our own peers as targets: real sockets, in one process and in virtual time. Bytes between two
ends in one process are there at once, so that the clock does not run away from them."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
import trio

from fleetgate.core import commands as c
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.local.script import load_script
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.proving import Asked, InProcess, open_controller, open_worker
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.target import Wants, open_target

EXAMPLES = Path(__file__).parents[3] / "examples" / "tck"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Private, and short enough for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="fg-") as made:
        yield Path(made)


@pytest.fixture
async def daemon(folder: Path) -> AsyncIterator[Runner]:
    """The kit for agency daemons, at ours."""
    kit, address = kit_of("agency", "daemon"), f"unix:{folder}/s"
    settings = adapters(())["agency"].northbound.settings()
    entry = Entry("north", "client", "agency", address, True, settings)
    script = load_script(str(EXAMPLES / "agency-daemon.toml"))
    given = kit.given()
    async with trio.open_nursery() as nursery:
        own = InProcess(nursery, partial(open_worker, entry, script, folder))
        await own.ensure()
        async with open_target(kit, address, kit.options(given), Wants({})) as target:
            yield Runner(kit, target, given, started=own)
        nursery.cancel_scope.cancel()


def a_prompt(details: Mapping[str, str]) -> c.RunSpec:
    return c.RunSpec(
        c.Prompt(details["prompt"], provider="claude"), interactive=True, approvals=True
    )


@pytest.fixture
async def client(folder: Path) -> AsyncIterator[Runner]:
    """The kit for agency clients, at ours."""
    kit, address = kit_of("agency", "client"), f"unix:{folder}/s"
    settings = adapters(())["agency"].southbound.settings()
    entry = Entry("south", "daemon", "agency", address, False, settings)
    given = kit.given()
    async with open_controller(entry) as small:
        wants = Asked(small, a_prompt)
        async with open_target(kit, address, kit.options(given), wants) as target:
            yield Runner(kit, target, given)


@pytest.fixture
async def host(folder: Path) -> AsyncIterator[Runner]:
    """The kit for rvbox hosts, at ours."""
    kit, address = kit_of("rvbox", "client"), "memory:host"
    settings = adapters(())["rvbox"].northbound.settings(client_id="host-1")
    entry = Entry("north", "server", "rvbox", address, False, settings)
    script = load_script(str(EXAMPLES / "rvbox-client.toml"))
    given = kit.given()
    async with trio.open_nursery() as nursery:
        most = settings.max_running
        own = InProcess(nursery, partial(open_worker, entry, script, folder, most=most))
        async with open_target(kit, address, kit.options(given), Wants({})) as target:
            await own.ensure()
            yield Runner(kit, target, given, started=own)
        nursery.cancel_scope.cancel()


def a_line(details: Mapping[str, str]) -> c.RunSpec:
    return c.RunSpec(c.ShellCommand(line=details["line"]), interactive=True)


@pytest.fixture
async def server() -> AsyncIterator[Runner]:
    """The kit for rvbox servers, at ours."""
    kit, address = kit_of("rvbox", "server"), "memory:server"
    settings = adapters(())["rvbox"].southbound.settings()
    entry = Entry("south", "hosts", "rvbox", address, True, settings)
    given = kit.given()
    async with open_controller(entry) as small:
        wants = Asked(small, a_line)
        async with open_target(kit, address, kit.options(given), wants) as target:
            yield Runner(kit, target, given)
