"""What a controller and a worker are told from Python."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest
import trio

from fleetgate.core.errors import InvalidArgument, Unavailable, UnsupportedInput
from fleetgate.gateway.fakes import AgencyClient, AgencyDaemon, BadOption, NotSeen, RvboxClient

ASKS = [
    {
        "match": "ask",
        "do": [{"approval": {"id": "a", "title": "Bash"}}, {"read_input": True}, {"text": "done"}],
    },
    {"match": "hang", "do": [{"text": "so far"}, {"hang": True}]},
]


@attrs.frozen
class Pair:
    client: AgencyClient
    daemon: AgencyDaemon


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    path = tmp_path / "s"
    async with (
        AgencyDaemon(socket=path, script=ASKS) as daemon,
        AgencyClient(socket=path) as client,
    ):
        yield Pair(client, daemon)


async def test_a_run_is_approved_given_input_followed_and_acknowledged(pair: Pair) -> None:
    client = pair.client
    started = await client.start("r", {"prompt": "ask"}, interactive=True, approvals=True)
    asked = await client.expect("run", run=started, type="ApprovalRequested")
    await client.approve("r", asked["approval"], "allow_once")
    await client.send("r", b"yes", newline=True)
    types = [event["type"] async for event in client.follow("r")]
    assert types[-2:] == ["TextProduced", "RunFinished"]
    ended = await client.status("r")
    assert len(types) == ended["last_seq"]
    await client.ack("r", ended["last_seq"])
    (worker,) = await client.workers()
    assert worker["liveness"] == "ready"


async def test_a_run_is_followed_from_where_one_was(pair: Pair) -> None:
    await pair.client.start("r", {"prompt": "hang"})
    said = await pair.client.expect("run", type="TextProduced")
    silent = pair.client.follow("r", after=said["seq"], within=0)
    with pytest.raises(NotSeen, match=rf"said nothing behind event {said['seq']} within 0 s"):
        await anext(silent)
    await pair.client.cancel("r")
    (event,) = [event async for event in pair.client.follow("r", after=said["seq"])]
    assert event["outcome"]["state"] == "canceled"


async def test_waits_have_an_end(pair: Pair) -> None:
    await pair.client.start("r", {"prompt": "hang"})
    with pytest.raises(Unavailable, match="did not end within 1 ms"):
        await pair.client.wait("r", within=0.001)
    with trio.move_on_after(0) as scope:
        await pair.client.wait("r")
    assert scope.cancelled_caught
    assert (await pair.client.status("r"))["state"] in ("starting", "running", "queued")


async def test_a_bad_spec_is_refused_with_the_nearest_name(pair: Pair) -> None:
    with pytest.raises(InvalidArgument, match=r"did you mean interactive\?"):
        await pair.client.start("r", {"prompt": "x"}, interactiv=True)


async def test_steps_and_scripts_that_are_wrong_are_refused(pair: Pair) -> None:
    await pair.client.start("r", {"prompt": "hang"})
    run = (await pair.daemon.expect("run", type="RunStarted"))["run"]
    with pytest.raises(InvalidArgument, match=r"did you mean text\?"):
        await pair.daemon.emit(run, {"txet": "x"})
    with pytest.raises(BadOption, match="do"):
        await pair.daemon.script([{"match": "x"}])


async def test_where_commands_are_really_executed_nothing_is_played(tmp_path: Path) -> None:
    host = RvboxClient(connect="memory:none", client_id="h", state=tmp_path, exec=True)
    async with host:
        with pytest.raises(UnsupportedInput):
            await host.script(ASKS)
