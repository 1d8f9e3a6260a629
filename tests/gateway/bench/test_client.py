"""The load client, with a load host behind a real gateway and behind the relay."""

from __future__ import annotations

import os
from typing import Any

import pytest
import trio

from fleetgate.gateway.bench.client import LoadClient
from fleetgate.gateway.bench.host import LoadHost
from fleetgate.gateway.bench.relay import join
from fleetgate.gateway.bench.task import BenchFailed, Task
from fleetgate.protocols.agency.encode import encode_response
from fleetgate.protocols.agency.wire import Error, ErrorCode
from fleetgate.transports.memory import memory_link_pair

PACES = pytest.mark.parametrize("rate", [0, 1_000_000])


@PACES
async def test_it_counts_every_event_that_a_host_emits_behind_a_gateway(
    rate: int, bridge: Any
) -> None:
    task = Task(256, 1e6, rate, events=3000)
    client = LoadClient(bridge.client, task)
    await client.attach()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(LoadHost(bridge.host, plain=False).run)
        sample = await client.count(os.getpid(), plain=False)
        nursery.cancel_scope.cancel()
    assert sample.events == 3000
    assert sample.size > 3000 * 256
    assert len(sample.lateness) == (3000 if rate else 0)


@PACES
async def test_it_counts_every_event_that_a_host_emits_behind_the_relay(rate: int) -> None:
    ours, socket = memory_link_pair()
    theirs, message = memory_link_pair()
    client = LoadClient(ours, Task(256, 1e6, rate, events=3000))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(join, socket, message)
        nursery.start_soon(LoadHost(theirs, plain=True).run)
        await client.dispatch()
        sample = await client.count(os.getpid(), plain=True)
        nursery.cancel_scope.cancel()
    assert sample.events == 3000
    assert len(sample.lateness) == (3000 if rate else 0)
    assert sample.peak_rss > 0


async def test_an_answer_that_it_does_not_expect_fails_the_trial() -> None:
    ours, theirs = memory_link_pair()
    await theirs.send(encode_response(1, Error(ErrorCode.INCOMPATIBLE_VERSION, "no")))
    with pytest.raises(BenchFailed, match=r"expected HelloAnswer; .*INCOMPATIBLE_VERSION"):
        await LoadClient(ours, Task(64, 1.0)).attach()
