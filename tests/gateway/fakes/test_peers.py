"""The eight fakes: their options are those of the command line, and each works with its peer."""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fleetgate.gateway.fakes import NoAnswer, peers
from fleetgate.gateway.fakes.cli import FAKES, module_of
from fleetgate.gateway.fakes.fake import Fake
from fleetgate.gateway.fakes.from_python import keywords
from fleetgate.gateway.fakes.peers import (
    IopEdge,
    IopNode,
    KodeletControlPlane,
    KodeletRunner,
    RvboxClient,
    RvboxServer,
)
from fleetgate.gateway.fakes.roles import Controller, Worker


def _class_of(name: str) -> type[Fake]:
    found: type[Fake] = getattr(peers, "".join(word.title() for word in name.split("-")))
    return found


@pytest.mark.parametrize("name", FAKES)
def test_its_options_are_those_of_the_command_line(name: str) -> None:
    made = inspect.signature(_class_of(name).__init__).parameters
    common = typing.get_type_hints(_class_of(name).__init__)["common"]
    (extra,) = typing.get_args(common)
    mine = {each for each in made if each not in ("self", "common")}
    assert mine | set(typing.get_type_hints(extra)) == set(keywords(module_of(name).make_parser()))


@pytest.mark.parametrize("name", FAKES)
def test_its_side_is_the_one_of_its_operations(name: str) -> None:
    """A worker is given runs, so it has no `start`."""
    side = Controller if name in ("agency-client", "rvbox-server", "iop-edge") else Worker
    side = Controller if name == "kodelet-control-plane" else side
    assert issubclass(_class_of(name), side)


async def test_an_rvbox_host_meets_its_server(tmp_path: Path) -> None:
    async with RvboxServer() as server:
        assert server.address.startswith("ws://127.0.0.1:")
        host = RvboxClient(connect=server.address, client_id="h", state=tmp_path, exec=True)
        async with host:
            await server.start("r", {"argv": ["echo", "hello"]})
            assert (await server.wait("r"))["outcome"]["exit_code"] == 0
            await server.expect("run", type="OutputProduced", text="hello\n")


async def test_a_node_meets_its_edge() -> None:
    async with IopEdge(token=["t=node"]) as edge:
        async with IopNode(connect=edge.address, token="t") as node:
            await edge.start("r", {"prompt": "hello"})
            assert (await edge.wait("r"))["state"] == "succeeded"
            assert node.runs[0]["state"] == "succeeded"
        async with IopNode(connect=edge.address, token="bad") as stranger:
            await stranger.expect("ended", where=lambda line: "refused" in line["reason"])


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[KodeletControlPlane]:
    async with KodeletControlPlane(token="t") as plane:
        runner = KodeletRunner(
            server=plane.address, token="t", workspace=tmp_path, state=tmp_path / "state"
        )
        async with runner:
            await plane.expect("worker", state="ready")
            yield plane


async def test_a_control_plane_is_worked_in_the_protocols_own_words(
    plane: KodeletControlPlane,
) -> None:
    (runner,) = await plane.runners()
    manifest = await plane.open(runner["id"], "x", "c1", id="opening")
    assert manifest["tools"]
    result = await plane.tool("x", "t1", "stream", updates=True)
    assert result is not None
    updates = [line for line in plane.events if line["event"] == "update"]
    assert [line["update"]["toolCallId"] for line in updates] == ["t1"] * len(updates)
    assert len(updates) == 3
    with pytest.raises(NoAnswer) as refused:
        await plane.call("x", "nothing.known", {"runId": "x"})
    assert refused.value.code.startswith("-32")
    with pytest.raises(NoAnswer, match="context deadline exceeded"):
        await plane.tool("x", "t3", "sleep", within=0.01)
    with pytest.raises(NoAnswer, match="call was not answered within 0 s"):
        await plane.call("x", "nothing.known", {"runId": "x"}, within=0)
    assert (await plane.run("x"))["status"] == "running"
    assert (await plane.close_run("x"))["status"] == "succeeded"


async def test_a_run_that_was_started_is_cancelled_as_everywhere(
    plane: KodeletControlPlane,
) -> None:
    await plane.start("r", {"tool": "sleep"})
    await plane.expect("run", type="RunStarted")
    await plane.cancel("r")
    assert (await plane.wait("r"))["state"] == "canceled"
