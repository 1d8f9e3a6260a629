"""All entries at work, and the change from one config to the next."""

from __future__ import annotations

from collections.abc import AsyncIterator

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.journal.api import Journal
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import Route
from fleetgate.gateway.config import Config, GatewaySettings
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.house import INSTANCES, House
from fleetgate.gateway.testing import PlainSettings, SeenHouse, plain_adapter
from fleetgate.transports.api import Link, LinkError, Options
from fleetgate.transports.open import open_dialer

ADAPTERS = {"plain": plain_adapter()}
GUI = Entry("north", "gui", "plain", "memory:gui", True, PlainSettings())
HOSTS = Entry("south", "hosts", "plain", "memory:hosts", True, PlainSettings())


def config(*entries: Entry, routes: tuple[Route, ...] = ()) -> Config:
    south = tuple(entry for entry in entries if entry.facing == "south")
    north = tuple(entry for entry in entries if entry.facing == "north")
    return Config("f.toml", GatewaySettings("memory:"), south, north, routes)


@attrs.define
class Home:
    house: House
    hub: Hub
    journal: Journal
    seen: SeenHouse

    async def dial(self, name: str) -> Link:
        async with open_dialer(f"memory:{name}", Options("varint", 1 << 16)) as dialer:
            return await dialer.dial()


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        seen = SeenHouse()
        house = House(hub, journal, TrioClock(), ADAPTERS, seen, nursery)
        yield Home(house, hub, journal, seen)
        nursery.cancel_scope.cancel()


async def test_what_is_unchanged_goes_on_undisturbed(home: Home) -> None:
    assert await home.house.apply(config(GUI, HOSTS)) == []
    gui, hosts = await home.dial("gui"), await home.dial("hosts")
    await gui.receive()
    await hosts.receive()
    changed = attrs.evolve(HOSTS, settings=PlainSettings("welcome"))
    assert await home.house.apply(config(GUI, changed)) == []
    assert await hosts.receive() == b"bye"
    with pytest.raises((trio.EndOfChannel, LinkError)):
        await hosts.receive()
    await gui.send(b"still here")
    assert await gui.receive() == b"still here"
    again = await home.dial("hosts")
    assert (await again.receive()).startswith(b"welcome hosts")
    await home.house.apply(config(GUI))
    assert [keeper.entry.name for keeper in home.house.keepers] == ["gui"]
    with pytest.raises(LinkError):
        await home.dial("hosts")


async def test_an_entry_that_cannot_start_leaves_the_others_at_work(home: Home) -> None:
    bad = attrs.evolve(HOSTS, address="nowhere:1")
    errors = await home.house.apply(config(GUI, bad))
    assert len(errors) == 1
    assert home.seen.said == [("failed", "hosts")]
    await (await home.dial("gui")).receive()


async def test_an_entry_has_one_instance_for_the_life_of_the_journal(home: Home) -> None:
    await home.house.apply(config(GUI))
    kept = (await home.journal.notes(INSTANCES))["gui"]
    assert (await (await home.dial("gui")).receive()).split()[2] == kept
    await home.house.apply(config(HOSTS))
    await home.house.apply(config(GUI))
    assert (await (await home.dial("gui")).receive()).split()[2] == kept


async def test_routes_change_with_the_config(home: Home) -> None:
    await home.house.apply(config(GUI, HOSTS, routes=(Route("gui", "hosts"),)))
    assert home.hub.router.route("gui", RunSpec(Prompt("x")))[0] == "hosts"
    assert home.hub.router.pools("gui") == {"hosts": ()}


async def test_draining_tells_everybody(home: Home) -> None:
    await home.house.apply(config(GUI, HOSTS))
    links = [await home.dial("gui"), await home.dial("hosts")]
    for link in links:
        await link.receive()
    await home.house.drain()
    for link in links:
        assert await link.receive() == b"bye"
    await wait_all_tasks_blocked()
