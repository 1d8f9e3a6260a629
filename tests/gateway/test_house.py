"""All entries at work, and the change from one config to the next."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.commands import Prompt, RunSpec
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.ids import WorkerId
from fleetgate.core.journal.api import Done, Journal, JournalFailing, Write
from fleetgate.core.journal.memory import MemoryJournal, open_memory_journal
from fleetgate.core.routing import Route
from fleetgate.core.worker import Liveness
from fleetgate.gateway.config import Config, ConfigError, GatewaySettings
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.house import INSTANCES, MEMORY, MOST_REMEMBERED, STOP_WITHIN, House
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.testing import PlainConnection, PlainSettings, SeenHouse, plain_adapter
from fleetgate.protocols import api
from fleetgate.protocols.kodelet import ADAPTER as kodelet_adapter
from fleetgate.transports.api import Link, LinkError, Options
from fleetgate.transports.open import open_dialer, open_listener

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


class Rememberer(PlainConnection):
    """Says what it was given, and wants the number after it remembered."""

    def opened(self, opening: api.Opening, now: int) -> api.Steps:
        kept = str(int(opening.remembered or "0") + 1)
        return (api.Remember(kept), api.Send(opening.remembered.encode()))


async def test_what_a_link_wants_remembered_is_told_to_later_ones_whatever_restarts(
    home: Home,
) -> None:
    """Also where the link has not ended: whoever kills us ends none in order."""
    adapters = {"plain": plain_adapter(make=Rememberer)}
    for expected in ("", "1", "2"):  # a house of its own each time, on one journal
        async with trio.open_nursery() as nursery:
            house = House(home.hub, home.journal, TrioClock(), adapters, SeenHouse(), nursery)
            await house.apply(config(GUI))
            link = await home.dial("gui")
            assert (await link.receive()).decode() == expected
            kept = str(int(expected or "0") + 1).encode()
            assert await home.journal.notes(MEMORY) == {"gui": kept}  # before its link ends
            nursery.cancel_scope.cancel()


@pytest.mark.limit("gateway/house.MOST_REMEMBERED")
async def test_what_is_too_long_is_not_remembered(home: Home) -> None:
    class Talker(PlainConnection):
        def opened(self, opening: api.Opening, now: int) -> api.Steps:
            return (api.Remember("x" * (MOST_REMEMBERED + 1)), api.Send(b"on"))

    async with trio.open_nursery() as nursery:
        adapters = {"plain": plain_adapter(make=Talker)}
        house = House(home.hub, home.journal, TrioClock(), adapters, SeenHouse(), nursery)
        await house.apply(config(GUI))
        assert await (await home.dial("gui")).receive() == b"on"
        nursery.cancel_scope.cancel()
    assert await home.journal.notes(MEMORY) == {}


async def test_what_cannot_be_remembered_is_never_spoken_of(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(writes: Sequence[Write], done: Done, *, may_fail: bool = False) -> None:
        trio.lowlevel.current_trio_token().run_sync_soon(done, JournalFailing("disk full"))

    async with trio.open_nursery() as nursery:
        adapters = {"plain": plain_adapter(make=Rememberer)}
        house = House(home.hub, home.journal, TrioClock(), adapters, SeenHouse(), nursery)
        await house.apply(config(GUI))
        monkeypatch.setattr(home.journal, "enqueue", fail)
        link = await home.dial("gui")
        with pytest.raises((trio.EndOfChannel, LinkError)):
            await link.receive()
        nursery.cancel_scope.cancel()
    assert await home.journal.notes(MEMORY) == {}


async def test_a_runner_that_is_killed_in_its_first_link_knows_its_id(home: Home) -> None:
    """Nothing can be done when we are killed: its id is durable when it is first used."""
    side = kodelet_adapter.northbound
    entry = Entry("north", "plane", "kodelet", "memory:plane", False, side.settings())
    used: list[dict[str, bytes]] = []
    heard = trio.Event()

    async def be_a_control_plane(link: Link) -> None:
        await link.receive()
        await link.send(
            b'{"jsonrpc":"2.0","id":"runner:1","result":'
            b'{"runnerId":"runner_given","generation":1,"heartbeatIntervalMs":1000}}'
        )
        assert b'"runnerId":"runner_given"' in await link.receive()
        used.append(dict(await home.journal.notes(MEMORY)))
        heard.set()

    options = Options(limit=8 << 20, subprotocols=("kodelet.runner.v1.jsonrpc",))
    async with trio.open_nursery() as nursery, open_listener("memory:plane", options) as listener:
        nursery.start_soon(listener.serve, be_a_control_plane)
        adapters = {"kodelet": kodelet_adapter}
        house = House(home.hub, home.journal, TrioClock(), adapters, SeenHouse(), nursery)
        await house.apply(config(entry))
        with trio.fail_after(120):
            await heard.wait()
        nursery.cancel_scope.cancel()
    (kept,) = used
    assert kept["plane"].endswith(b" runner_given")


async def test_routes_change_with_the_config(home: Home) -> None:
    await home.house.apply(config(GUI, HOSTS, routes=(Route("gui", "hosts"),)))
    assert home.hub.router.route("gui", RunSpec(Prompt("x")))[0] == "hosts"
    assert home.hub.router.pools("gui") == {"hosts": ()}


async def test_a_local_pool_is_at_work_like_an_entry_and_ends_with_its_table(
    home: Home, tmp_path: Path
) -> None:
    pool = LocalPool("here", ("mock",), state=str(tmp_path))
    with_pool = attrs.evolve(config(routes=(Route("gui", "here"),)), local=(pool,))
    assert await home.house.apply(with_pool) == []
    assert home.house.keepers == ()
    assert home.hub.router.route("gui", RunSpec(Prompt("x")))[0] == "here"
    worker = home.hub.worker(WorkerId("here/here"))
    assert worker.liveness is Liveness.READY
    await home.house.apply(with_pool)
    assert home.seen.entries["here"].named("up") == ["this machine"]
    await home.house.drain()
    assert worker.free == 0
    await home.house.apply(config())
    assert worker.liveness is Liveness.AWAY


async def test_a_pool_that_cannot_start_is_told(home: Home, tmp_path: Path) -> None:
    pool = LocalPool("here", ("mock",), state=str(tmp_path), script=str(tmp_path / "none"))
    errors = await home.house.apply(attrs.evolve(config(), local=(pool,)))
    assert [type(error) for error in errors] == [ConfigError]
    assert home.seen.said == [("failed", "here")]


async def test_draining_tells_everybody(home: Home) -> None:
    await home.house.apply(config(GUI, HOSTS))
    links = [await home.dial("gui"), await home.dial("hosts")]
    for link in links:
        await link.receive()
    await home.house.drain()
    for link in links:
        assert await link.receive() == b"bye"
    await wait_all_tasks_blocked()


async def never(self: Driver) -> None:
    await trio.sleep_forever()


async def test_changed_entries_stop_side_by_side(
    home: Home, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Driver, "finish", never)
    entries = [attrs.evolve(GUI, name=f"gui-{n}", address=f"memory:gui-{n}") for n in range(4)]
    await home.house.apply(config(*entries))
    for entry in entries:
        await home.dial(entry.name)
    await wait_all_tasks_blocked()
    began = trio.current_time()
    await home.house.apply(config(*entries[:1]))
    assert trio.current_time() - began == pytest.approx(STOP_WITHIN)
    assert [keeper.entry.name for keeper in home.house.keepers] == ["gui-0"]


async def test_I9_a_journal_that_does_not_answer_changes_nothing(
    home: Home, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stuck(self: MemoryJournal, writes: Sequence[Write]) -> None:
        await trio.sleep_forever()

    await home.house.apply(config(GUI, routes=(Route("gui", "hosts"),)))
    link = await home.dial("gui")
    await link.receive()
    with monkeypatch.context() as patch:
        patch.setattr(MemoryJournal, "commit", stuck)
        with pytest.raises(JournalFailing, match="within 10 s, so nothing was changed"):
            await home.house.apply(config(HOSTS))
    await link.send(b"still here")
    assert await link.receive() == b"still here"
    assert home.hub.router.pools("gui") == {"hosts": ()}
    assert await home.house.apply(config(HOSTS)) == []
    await (await home.dial("hosts")).receive()
