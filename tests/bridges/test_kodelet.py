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


def out(text: str, offset: int = 0) -> e.OutputProduced:
    return e.OutputProduced(Stream.STDOUT, text.encode(), offset)


async def begun(bridge, name: str = "r1"):
    run = await bridge.start(name, name)
    return run, await bridge.given(name)


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
