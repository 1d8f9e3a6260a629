"""The life of a run's events, as operators are told."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.lowlevel
from trio.testing import wait_all_tasks_blocked

from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    describe,
    hub_on,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.admin import life
from fleetgate.gateway.admin.api import Api
from fleetgate.gateway.admin.http import Reply, Request
from fleetgate.gateway.followers import Followers
from fleetgate.gateway.outbox import Outbox


async def _get(api: Api, *path: str, **query: str) -> Any:
    reply = await api.handle(Request("GET", ("v1", "runs", *path), query, {}, b""))
    assert isinstance(reply, Reply)
    return reply.line


@pytest.fixture
async def run(hub: Hub, worker: HandWorker) -> RunId:
    """Its second event is its worker's, with the number 9."""
    hub.ladders.passages.came(worker.info.id, worker.epoch, "hosts", "10.0.0.7:4711")
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("secret"), seq=9)
    await read_until(hub, run, 2)
    await wait_all_tasks_blocked()
    return run


async def test_an_event_from_its_worker_to_its_controller(
    api: Api, hub: Hub, worker: HandWorker, run: RunId
) -> None:
    async with trio.open_nursery() as nursery:
        for peer, after in (("first", 0), ("second", 2)):
            follow = Followers(hub, Outbox(), len, lambda *told: None)
            follow.link = ("north", peer)
            follow.follow(nursery, run, Seq(after))
        await wait_all_tasks_blocked()
        await hub.acknowledge(run, 2)
        await wait_all_tasks_blocked()
        line = (await _get(api, run, "life", seq="2"))["event"]
        nursery.cancel_scope.cancel()
    received = line["received"]
    first, second = sorted(line["sent"], key=lambda each: each["peer"])
    assert received.pop("time") <= line["stored_by"] <= first["by"] <= line["acknowledged_by"]
    assert received == {
        "from": "worker",
        "worker": worker.info.id,
        "link": {"entry": "hosts", "peer": "10.0.0.7:4711"},
        "epoch": worker.epoch,
        "native_seq": 9,
        "worker_time": None,
    }
    assert (first["entry"], first["peer"], first["sent"]) == ("north", "first", True)
    assert (second["peer"], second["sent"], second["by"]) == ("second", None, None)
    assert (line["stored"], line["acknowledged"], line["confirmed"]) == (True, True, True)
    assert line["not_kept"] == []


async def test_no_payload_is_shown_unless_it_is_asked_for(api: Api, run: RunId) -> None:
    line = await _get(api, run, "life", seq="2")
    assert "secret" not in str(line)
    assert (line["event"]["type"], line["event"]["sizes"]) == ("TextProduced", {"text": 6})
    line = await _get(api, run, "life", seq="2", payload="1")
    assert line["event"]["payload"]["text"] == "secret"


async def test_what_the_gateway_made_and_what_nobody_has_yet(api: Api, run: RunId) -> None:
    line = (await _get(api, run, "life", seq="1"))["event"]
    assert set(line["received"]) == {"time", "from"}
    assert line["received"]["from"] == "gateway"
    assert (line["acknowledged"], line["acknowledged_by"]) == (False, None)
    assert line["confirmed"] is None
    assert line["not_kept"] == [life.NO_SENDING]


async def test_an_event_that_is_not_stored_yet(hub: Hub, run: RunId) -> None:
    seen = await describe(hub, run)
    line = life.event_life(hub.ladders, seen, 3, None, payload=True)
    assert (line["stored"], line["received"], line["type"]) == (False, None, None)
    assert line["not_kept"] == []
    assert "payload" not in line


async def test_the_run_itself_and_its_ladder_in_every_list(
    api: Api, hub: Hub, worker: HandWorker, run: RunId
) -> None:
    await hub.acknowledge(run, 1)
    await wait_all_tasks_blocked()
    ladder = {
        "received": 2,
        "stored": 2,
        "sent": None,
        "acknowledged": 1,
        "native_received": 9,
        "native_stored": 9,
    }
    line = await _get(api, run, "life")
    assert "event" not in line
    assert line["life"]["ladder"] == line["run"]["ladder"] == ladder
    assert line["life"]["worker_link"] == {"entry": "hosts", "peer": "10.0.0.7:4711"}
    (listed,) = (await _get(api))["runs"]
    assert listed["ladder"] == ladder
    assert (await _get(api, run))["run"]["ladder"] == ladder


async def test_what_operators_read_counts_as_sent_to_them(api: Api, run: RunId) -> None:
    request = Request("GET", ("v1", "runs", run, "events"), {}, {}, b"")
    stream: Any = await api.handle(request)

    async def send(data: bytes) -> None:
        assert data

    await stream.write(send)
    line = await _get(api, run, "life")
    assert line["life"]["sent"] == [
        {
            "entry": "admin",
            "peer": "the admin socket",
            "after": 0,
            "through": 2,
            "now": False,
        }
    ]


@pytest.mark.parametrize("seq", ["0", "3"])
async def test_a_number_that_no_event_has(api: Api, run: RunId, seq: str) -> None:
    line = await _get(api, run, "life", seq=seq)
    assert line["error"]["code"] == "invalid_argument"
    assert "has events 1 to 2" in line["error"]["message"]
    assert (await _get(api, "north/none", "life"))["error"]["code"] == "not_found"


async def test_behind_a_restart_it_is_said_what_is_not_kept() -> None:
    async with open_memory_journal() as journal:
        async with hub_on(journal) as hub:
            worker = HandWorker(hub, worker_info())
            await worker.join()
            run = await started(hub)
            worker.record(run, DONE, seq=9)
            await read_until(hub, run, 2)
            await hub.acknowledge(run, 2)
            await wait_all_tasks_blocked()
            await trio.lowlevel.checkpoint()
        async with hub_on(journal) as hub:
            seen = await describe(hub, run)
            recorded = await hub.ladders.event(seen, 2)
            line = life.event_life(hub.ladders, seen, 2, recorded, payload=False)
            assert line["not_kept"] == [life.BEFORE_START]
            assert (line["received"]["epoch"], line["received"]["native_seq"]) == (1, 9)
            assert (line["received"]["link"], line["stored_by"], line["sent"]) == (None, None, [])
            assert (line["stored"], line["acknowledged"]) == (True, True)
            assert life.run_life(hub.ladders, seen)["not_kept"] == [life.BEFORE_START]
