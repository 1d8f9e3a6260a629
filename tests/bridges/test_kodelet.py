"""kodelet on either side of the gateway, in virtual time on links in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.events import Outcome, Reason, RunState, Stream
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import TrioClock, hub_on
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.config import Config, GatewaySettings
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.house import House
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenHouse
from fleetgate.protocols.kodelet.wire import SUBPROTOCOL
from fleetgate.transports.api import Link, Options
from fleetgate.transports.open import open_listener


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with open_memory_journal() as journal, hub_on(journal) as opened:
        yield opened


OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))
FAILED = e.RunFinished(Outcome(RunState.FAILED, Reason.EXITED, exit_code=3))
CANCELED = e.RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, signal="SIGTERM"))


def out(text: str, offset: int = 0) -> e.OutputProduced:
    return e.OutputProduced(Stream.STDOUT, text.encode(), offset)


def shown(bridge, run) -> str:
    """Everything that the controller saw, whichever kind of event carried it."""
    parts = []
    for recorded in bridge.events[run]:
        match recorded.event:
            case e.TextProduced(text=text):
                parts.append(text)
            case e.OutputProduced(data=data):
                parts.append(data.decode())
    return "".join(parts)


async def begun(bridge, name: str = "r1"):
    run = await bridge.start(name, name)
    return run, await bridge.given(name)


async def test_output_and_end_cross_the_bridge(kodelet_bridge, autojump_clock) -> None:
    bridge = kodelet_bridge
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted(pid=7), out("hello "))
    await trio.sleep(1)
    bridge.say(at_host, out("wörld\n", 6), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    assert shown(bridge, run) == "hello wörld\n"
    bridge.check(run)


async def test_output_is_seen_before_the_end(kodelet_bridge, autojump_clock) -> None:
    bridge = kodelet_bridge
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted(), out("early"))
    await trio.sleep(5)
    assert shown(bridge, run) == "early"
    bridge.say(at_host, OK)
    await bridge.ended(run)
    bridge.check(run)


async def test_a_command_that_fails_says_how(kodelet_bridge, autojump_clock) -> None:
    bridge = kodelet_bridge
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted(), FAILED)
    outcome = await bridge.ended(run)
    assert (outcome.state, outcome.exit_code) == (RunState.FAILED, 3)
    bridge.check(run)


async def test_a_cancel_reaches_the_worker_and_comes_back(kodelet_bridge, autojump_clock) -> None:
    bridge = kodelet_bridge
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted())
    await trio.sleep(1)
    await bridge.controller.hub.submit(c.CancelRun(run))
    await trio.sleep(1)
    asked = [
        order.command
        for order in bridge.worker.port.orders
        if isinstance(order.command, c.SignalRun | c.CancelRun)
    ]
    assert asked
    bridge.say(at_host, CANCELED)
    assert (await bridge.ended(run)).state is RunState.CANCELED
    bridge.check(run)


async def test_many_runs_at_once_keep_apart(kodelet_bridge, autojump_clock) -> None:
    bridge = kodelet_bridge
    names = [f"n{at}" for at in range(12)]
    runs = {name: await bridge.start(name, name) for name in names}
    for name in runs:
        at_host = await bridge.given(name)
        bridge.say(at_host, e.RunStarted(), *(out(f"{name}.", 0) for _ in range(20)), OK)
    for name, run in runs.items():
        await bridge.ended(run)
        assert shown(bridge, run) == f"{name}." * 20
        bridge.check(run)


LINKS = {
    "kodelet-rvbox": ("controller", "fleet"),
    "agency-kodelet": ("gateway", "hosts"),
    "rvbox-kodelet": ("host", "server"),
    "kodelet-kodelet": ("gateway", "gui"),
}


async def test_a_lost_link_loses_its_run_and_the_next_one_works(
    kodelet_bridge, autojump_clock, request: pytest.FixtureRequest
) -> None:
    bridge = kodelet_bridge
    member, entry = LINKS[request.node.callspec.params["kodelet_bridge"]]
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted(), out("before"))
    await trio.sleep(1)
    getattr(bridge, member).cut(entry)
    outcome = await bridge.ended(run)
    assert outcome.state in (RunState.LOST, RunState.FAILED)
    await trio.sleep(60)
    stopped = [
        order.run
        for order in bridge.worker.port.orders
        if isinstance(order.command, c.CancelRun | c.SignalRun)
    ]
    assert at_host in stopped
    second, again = await begun(bridge, "r2")
    bridge.say(again, e.RunStarted(), OK)
    assert (await bridge.ended(second)).state is RunState.SUCCEEDED
    bridge.check(second)


async def test_heartbeats_keep_a_long_run_alive(kodelet_bridge, autojump_clock) -> None:
    bridge = kodelet_bridge
    run, at_host = await begun(bridge)
    bridge.say(at_host, e.RunStarted())
    await trio.sleep(3600)
    bridge.say(at_host, out("morning\n"), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    assert shown(bridge, run) == "morning\n"
    bridge.check(run)


async def test_a_runner_shows_the_id_that_it_was_given_and_has_the_next_generation(
    hub: Hub, autojump_clock: MockClock
) -> None:
    """Whatever restarts: a second house on the same journal."""
    options = Options("", 1 << 20, subprotocols=(SUBPROTOCOL,))
    shown: list[object] = []

    async def admit(link: Link) -> None:
        asked = json.loads(await link.receive())
        shown.append(asked["params"].get("runnerId"))
        result = {"runnerId": "runner_1", "generation": len(shown)}
        await link.send(
            json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        )
        beat = json.loads(await link.receive())["params"]
        assert (beat["runnerId"], beat["generation"]) == ("runner_1", len(shown))
        await link.close(None)

    settings = adapters(())["kodelet"].northbound.settings()
    entry = Entry("north", "cp", "kodelet", "memory:cp", False, settings)
    config = Config("f.toml", GatewaySettings("memory:"), (), (entry,), ())
    async with (
        open_memory_journal() as journal,
        open_listener("memory:cp", options) as listener,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(listener.serve, admit)
        for _ in range(2):
            async with trio.open_nursery() as house_nursery:
                house = House(hub, journal, TrioClock(), adapters(()), SeenHouse(), house_nursery)
                assert await house.apply(config) == []
                await trio.sleep(0.5)
                house_nursery.cancel_scope.cancel()
        nursery.cancel_scope.cancel()
    assert shown == [None, "runner_1"]
