"""The gateway as a whole: signals, reload, and the end."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from fleetgate.gateway.config import Config, ConfigError, GatewaySettings, Problem
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.connection import Driver
from fleetgate.gateway.keeper import Keeper
from fleetgate.gateway.serve import Gateway, serve
from fleetgate.gateway.testing import PlainSettings, SeenHouse, plain_adapter
from fleetgate.transports.api import Link, LinkError, Options
from fleetgate.transports.open import open_dialer

GUI = Entry("north", "gui", "plain", "memory:gui", True, PlainSettings())
CONFIG = Config("f.toml", GatewaySettings("memory:"), (), (GUI,), ())


@attrs.define
class Running:
    """A gateway that serves in this process; the test signals it."""

    seen: SeenHouse = attrs.field(factory=SeenHouse)
    file: Config | Exception = CONFIG
    gateway: Gateway | None = None
    code: int | None = None
    go_on: trio.Event = attrs.field(factory=trio.Event)

    async def go(self, config: Config = CONFIG) -> None:
        adapters = {"plain": plain_adapter()}
        self.code = await serve(config, adapters, self.load, self.seen, self.admin)

    def load(self) -> Config:
        if isinstance(self.file, Exception):
            raise self.file
        return self.file

    async def admin(self, gateway: Gateway, *, task_status: trio.TaskStatus[None]) -> None:
        self.gateway = gateway
        task_status.started()
        await trio.sleep_forever()

    async def send(self, number: signal.Signals) -> None:
        signal.raise_signal(number)
        await wait_all_tasks_blocked()


async def dial(name: str = "gui") -> Link:
    async with open_dialer(f"memory:{name}", Options("varint", 1 << 16)) as dialer:
        return await dialer.dial()


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    running = Running()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.go)
        await wait_all_tasks_blocked()
        yield running
        nursery.cancel_scope.cancel()


async def test_the_first_signal_drains_and_ends_with_0(running: Running) -> None:
    link = await dial()
    await link.receive()
    await running.send(signal.SIGTERM)
    assert await link.receive() == b"bye"
    assert running.code == 0
    assert [what for what, _ in running.seen.said] == ["ready", "draining"]
    with pytest.raises(LinkError):
        await dial()


async def test_a_second_signal_ends_at_once(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Driver) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(Driver, "finish", never)
    await dial()
    await running.send(signal.SIGTERM)
    assert running.code is None
    await running.send(signal.SIGHUP)
    assert running.code is None
    await running.send(signal.SIGINT)
    assert running.code == 0


async def test_a_peer_that_cannot_be_told_does_not_hold_up_the_end_for_ever(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Driver) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(Driver, "finish", never)
    running = Running()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.go)
        await wait_all_tasks_blocked()
        await dial()
        await running.send(signal.SIGTERM)
        await trio.sleep(11)
    assert running.code == 0
    assert ("drain_overdue", 10.0) in running.seen.said


@pytest.fixture
async def starting(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    """A gateway whose first entry has started, and whose second takes its time."""
    running = Running()
    keep = Keeper.run

    async def slow(
        self: Keeper, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
    ) -> None:
        if self.entry.name == "slow":
            await running.go_on.wait()
        await keep(self, task_status)

    monkeypatch.setattr(Keeper, "run", slow)
    second = attrs.evolve(GUI, name="slow", address="memory:slow")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.go, attrs.evolve(CONFIG, north=(GUI, second)))
        await wait_all_tasks_blocked()
        yield running
        nursery.cancel_scope.cancel()


async def test_a_signal_during_the_start_ends_it_and_drains_what_is_up(starting: Running) -> None:
    link = await dial()
    await link.receive()
    await starting.send(signal.SIGTERM)
    assert await link.receive() == b"bye"
    assert starting.code == 0
    assert starting.seen.said == [("draining", None)]


async def test_a_second_signal_during_the_start_ends_at_once(
    starting: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Driver) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(Driver, "finish", never)
    await dial()
    await starting.send(signal.SIGTERM)
    assert starting.code is None
    await starting.send(signal.SIGTERM)
    assert starting.code == 0


async def test_a_reload_asked_for_during_the_start_comes_behind_it(starting: Running) -> None:
    await starting.send(signal.SIGHUP)
    assert starting.seen.said == []
    starting.go_on.set()
    await wait_all_tasks_blocked()
    assert starting.seen.said == [("ready", None), ("reloaded", None)]


async def test_a_reload_changes_over_to_the_new_file(running: Running) -> None:
    welcome = attrs.evolve(GUI, settings=PlainSettings("welcome"))
    running.file = attrs.evolve(CONFIG, north=(welcome,))
    await running.send(signal.SIGHUP)
    assert (await (await dial()).receive()).startswith(b"welcome")
    assert running.seen.said[-1] == ("reloaded", None)


async def test_a_bad_file_keeps_what_runs_and_says_so(running: Running) -> None:
    link = await dial()
    await link.receive()
    running.file = ConfigError("f.toml", (Problem(3, "north.gui", "is bad"),))
    await running.send(signal.SIGHUP)
    assert running.seen.said[-1] == ("reload_refused", "f.toml:3: north.gui: is bad")
    await link.send(b"x")
    assert await link.receive() == b"x"


async def test_whatever_is_wrong_with_a_file_ends_nothing(running: Running) -> None:
    running.file = RecursionError("too deep")
    await running.send(signal.SIGHUP)
    assert running.seen.said[-1] == ("reload_refused", "too deep")
    assert running.code is None


async def test_what_counts_after_a_restart_only_is_named(running: Running) -> None:
    changed = GatewaySettings("sqlite:/x", name="other", drain_timeout=3.0)
    running.file = attrs.evolve(CONFIG, gateway=changed)
    for _ in range(2):
        running.seen.said.clear()
        await running.send(signal.SIGHUP)
        assert ("needs_restart", ("journal", "name")) in running.seen.said
    assert running.gateway is not None
    assert running.gateway.config.gateway == GatewaySettings("memory:", drain_timeout=3.0)


async def test_an_entry_that_cannot_start_is_exit_code_1() -> None:
    running = Running()
    bad = attrs.evolve(GUI, address="nowhere")
    await running.go(attrs.evolve(CONFIG, north=(bad,)))
    assert running.code == 1
    assert running.seen.said == [("failed", "gui")]


@attrs.define
class Reloading:
    """A file whose loading is counted, and links whose goodbye never ends."""

    running: Running
    loads: int = 0

    def load(self) -> Config:
        self.loads += 1
        welcome = PlainSettings(f"welcome {self.loads}")
        return attrs.evolve(CONFIG, north=(attrs.evolve(GUI, settings=welcome),))


@pytest.fixture
async def reloading(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Reloading]:
    """A gateway in the middle of a reload."""

    async def never(self: Driver) -> None:
        await trio.sleep_forever()

    running = Running()
    reloading = Reloading(running)
    monkeypatch.setattr(Driver, "finish", never)
    monkeypatch.setattr(Running, "load", lambda self: reloading.load())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.go)
        await wait_all_tasks_blocked()
        await dial()
        await running.send(signal.SIGHUP)
        assert reloading.loads == 1
        assert running.seen.said == [("ready", None)]
        yield reloading
        nursery.cancel_scope.cancel()


async def test_a_signal_to_end_overtakes_a_reload(reloading: Reloading) -> None:
    running = reloading.running
    await running.send(signal.SIGTERM)
    assert running.seen.said[1:] == [("draining", None)]
    assert running.code is None
    await running.send(signal.SIGTERM)
    assert running.code == 0


async def test_reloads_asked_for_during_one_become_one(
    reloading: Reloading, autojump_clock: trio.testing.MockClock
) -> None:
    for _ in range(5):
        await reloading.running.send(signal.SIGHUP)
    assert reloading.loads == 1
    await trio.sleep(30)
    assert reloading.loads == 2
    assert reloading.running.seen.said[1:] == [("reloaded", None), ("reloaded", None)]
    assert (await (await dial()).receive()).startswith(b"welcome 2")
