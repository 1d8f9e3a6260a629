"""A fake in this process: its beginning, its end, what it has seen."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from fleetgate.core.errors import InvalidArgument, RunNotFound
from fleetgate.gateway.fakes import (
    AgencyClient,
    AgencyDaemon,
    BadOption,
    CannotStart,
    NotOpen,
    NotSeen,
    RvboxClient,
    RvboxServer,
)
from fleetgate.gateway.fakes.fake import CLOSE_WITHIN, EXPECT_WITHIN, data_members

HANG = [{"match": ".", "do": [{"hang": True}]}]


@attrs.frozen
class Pair:
    """A server, and the host that it has work done on."""

    server: RvboxServer
    host: RvboxClient


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    name = "memory:fakes"
    async with (
        RvboxServer(listen=name) as server,
        RvboxClient(connect=name, client_id="h", state=tmp_path, script=HANG) as host,
    ):
        await server.expect("worker", state="ready")
        yield Pair(server, host)


async def test_frames_are_seen_decoded_from_both_ends(pair: Pair) -> None:
    sent, came = pair.host.frames[0], pair.server.frames[0]
    assert (sent.dir, came.dir) == ("out", "in")
    assert sent.name == came.name != ""
    assert sent.raw == came.raw
    assert came.message["client_hello"]["client_id"] == "h"
    assert came.time <= pair.server.frames[-1].time


async def test_runs_are_known_on_both_sides_without_asking(pair: Pair) -> None:
    await pair.server.start("r", {"line": "true"})
    await pair.host.expect("run", type="RunStarted")
    ours, theirs = pair.server.runs[0], pair.host.runs[0]
    assert (ours["run"], theirs["state"]) == ("r", "running")
    await pair.host.emit(theirs["run"], {"stdout": "done\n"}, {"finish": {"exit": 3}})
    ended = await pair.server.wait("r")
    assert ended["outcome"]["exit_code"] == 3
    assert await pair.server.expect("run", run="r", type="OutputProduced", text=re.compile("^done"))
    assert pair.server.runs[0] == ended


async def test_each_line_is_expected_once_and_what_came_already_counts(pair: Pair) -> None:
    for run in ("a", "b"):
        await pair.server.start(run, {"line": run})
    first = await pair.server.expect("run", type="RunStarted")
    second = await pair.server.expect("run", type="RunStarted")
    assert {first["run"], second["run"]} == {"a", "b"}
    with pytest.raises(NotSeen, match=r"(?s)no run with type='RunStarted' came within 0 s.*before"):
        await pair.server.expect("run", type="RunStarted", within=0)


async def test_what_was_seen_instead_is_said(autojump_clock: MockClock, tmp_path: Path) -> None:
    async with AgencyDaemon(socket=tmp_path / "s") as daemon, AgencyClient(socket=tmp_path / "s"):
        await daemon.expect("frame", name="hello")
        began = trio.current_time()
        with pytest.raises(NotSeen) as missed:
            await daemon.expect("frame", dir="in", name="nothing", where=lambda line: False)
        assert trio.current_time() - began == pytest.approx(EXPECT_WITHIN)
    said = str(missed.value)
    assert "no frame with dir='in', name='nothing', where it fits came within 5 s" in said
    assert "in  hello" in said
    assert "1 link" in said


async def test_a_peer_that_leaves_in_the_middle_is_an_event(pair: Pair) -> None:
    await pair.server.start("r", {"line": "x"})
    await pair.host.expect("run", type="RunStarted")
    await pair.host.drop()
    assert (await pair.server.expect("link", state="down"))["reason"]
    await pair.server.expect("worker", state="ready")
    assert (await pair.server.status("r"))["outcome"] is None


async def test_links_go_wrong_on_request_and_frames_are_put_on_the_wire(pair: Pair) -> None:
    await pair.server.fault(corrupt=1.0, dir="out")
    await pair.server.fault()
    await pair.server.raw(b"\xff\xff", worker="h")
    assert (await pair.host.expect("frame", dir="in", name=""))["rule"]
    with pytest.raises(InvalidArgument, match="a probability from 0 to 1"):
        await pair.server.fault(corrupt=2.0)
    with pytest.raises(BadOption, match=r"drop_aftr: .* did you mean drop_after\?"):
        await pair.server.fault(drop_aftr=1)  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match=r"fram: .* did you mean frame\?"):
        await pair.server.expect("fram")
    assert data_members(b"\0") == {"data_base64": "AA=="}


async def test_another_script_counts_for_runs_that_start_then(pair: Pair, tmp_path: Path) -> None:
    await pair.host.script([{"match": "^one$", "do": [{"finish": {"exit": 1}}]}])
    await pair.server.start("a", {"line": "one"})
    assert (await pair.server.wait("a"))["outcome"]["exit_code"] == 1
    file = tmp_path / "script.toml"
    file.write_text('[[when]]\nmatch = "two"\ndo = [{ finish = { exit = 2 } }]\n')
    await pair.host.script(str(file))
    await pair.server.start("b", {"line": "two"})
    assert (await pair.server.wait("b"))["outcome"]["exit_code"] == 2


async def test_the_block_may_be_left_with_runs_under_way(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with AgencyClient(socket=path) as client:
        async with AgencyDaemon(socket=path, script=HANG) as daemon:
            await client.start("r", {"prompt": "x"})
            await client.expect("run", type="StateChanged", state="running")
        assert daemon.runs[0]["state"] == "lost"
        assert await client.expect("link", state="down")
        assert client.runs[0]["state"] == "running"


async def test_the_block_may_be_cancelled_with_runs_under_way(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    began = trio.current_time()
    with trio.move_on_after(10) as scope:
        async with (
            AgencyDaemon(socket=path, script=HANG) as daemon,
            AgencyClient(socket=path) as client,
        ):
            await client.start("r", {"prompt": "x"})
            await daemon.expect("run", type="RunStarted")
            await daemon.fault(half_open=True)
            await client.wait("r")
    assert scope.cancelled_caught
    assert trio.current_time() - began <= 10 + 2 * CLOSE_WITHIN
    assert daemon.runs[0]["state"] == "lost"
    assert client.over
    assert daemon.over


async def test_what_the_block_raises_comes_out_as_it_was_raised(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="mine"):
        async with RvboxServer(listen="memory:fakes"):
            raise ValueError("mine")


async def test_a_fake_is_used_inside_its_one_block(tmp_path: Path) -> None:
    client = AgencyClient(socket=tmp_path / "none")
    with pytest.raises(NotOpen, match="was not entered yet"):
        await client.workers()
    async with client:
        assert await client.workers() == []
        with pytest.raises(RunNotFound):
            await client.status("r")
    with pytest.raises(NotOpen, match="is closed"):
        await client.expect("link")
    with pytest.raises(NotOpen, match="make another one"):
        await client.__aenter__()


async def test_two_fakes_on_one_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with AgencyDaemon(socket=path) as daemon:
        assert daemon.address == f"unix:{path}"
        with pytest.raises(CannotStart, match="agency-daemon: another process"):
            async with AgencyDaemon(socket=path):
                pass
        async with AgencyClient(socket=path) as client:
            await client.expect("worker", state="ready")


async def test_a_state_directory_serves_one_fake(tmp_path: Path) -> None:
    async with RvboxServer(listen="memory:a", state=tmp_path):
        with pytest.raises(CannotStart, match=r"journal\.db"):
            async with RvboxServer(listen="memory:b", state=tmp_path):
                pass


async def test_a_fault_of_its_own_comes_out_in_place_of_the_block(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async def fail() -> None:
        raise KeyError("its own")

    async def use() -> None:
        async with RvboxServer(listen="memory:fakes") as server:
            _, small = server._opened()
            small.nursery.start_soon(fail)
            await trio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        await use()
    assert raised.group_contains(KeyError, match="its own")
    await wait_all_tasks_blocked()
