"""Workers and runs by their protocol's own names."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from fleetgate.core.errors import InvalidArgument, RunNotFound
from fleetgate.core.ids import RunId
from fleetgate.gateway.fakes import named
from fleetgate.gateway.fakes.peers import (
    AgencyClient,
    AgencyDaemon,
    IopEdge,
    IopNode,
    KodeletControlPlane,
    KodeletRunner,
    RvboxClient,
    RvboxServer,
)
from fleetgate.gateway.fakes.roles import Controller, Worker

HANG: Final = [{"match": ".", "do": [{"hang": True}]}]

OPEN: Final = [RunId(f"server/run_{n}/ab-{call}") for n in (1, 2) for call in (1, 2, 3)]


def test_a_run_is_meant_by_its_own_name_or_by_the_whole_id() -> None:
    runs = [RunId("client/a"), RunId("client/a/b"), RunId("client/b")]
    assert named.played_run("a", runs) == "client/a"
    assert named.played_run("a/b", runs) == "client/a/b"
    assert named.played_run("client/b", runs) == "client/b"


def test_a_call_is_meant_by_its_run_as_long_as_that_has_no_other() -> None:
    assert named.played_run("run_1", OPEN[:1], named.call_of) == OPEN[0]
    assert named.played_run("run_2/ab-3", OPEN, named.call_of) == OPEN[5]
    with pytest.raises(InvalidArgument, match=re.escape(", ".join(OPEN[3:]))):
        named.played_run("run_2", OPEN, named.call_of)


def test_who_asks_for_an_unknown_run_hears_of_the_first_that_are_open() -> None:
    with pytest.raises(RunNotFound, match=f"open: {', '.join(OPEN[:5])} and 1 more$"):
        named.played_run("none", OPEN)
    with pytest.raises(RunNotFound, match=r"open: none$"):
        named.played_run("none", [])


def test_workers_have_their_own_names() -> None:
    ids = ("hosts/h", "hosts/a/b", "daemon")
    assert [named.short_name(id) for id in ids] == ["h", "a/b", "daemon"]


@asynccontextmanager
async def agency(place: Path) -> AsyncGenerator[tuple[Controller, Worker], None]:
    where = place / "s"
    async with (
        AgencyDaemon(socket=where, script=HANG) as daemon,
        AgencyClient(socket=where) as client,
    ):
        yield client, daemon


@asynccontextmanager
async def rvbox(place: Path) -> AsyncGenerator[tuple[Controller, Worker], None]:
    async with (
        RvboxServer() as server,
        RvboxClient(connect=server.address, client_id="h", state=place, script=HANG) as host,
    ):
        yield server, host


@asynccontextmanager
async def iop(place: Path) -> AsyncGenerator[tuple[Controller, Worker], None]:
    async with (
        IopEdge(token=["t=h"]) as edge,
        IopNode(connect=edge.address, token="t", script=HANG) as node,
    ):
        yield edge, node


@asynccontextmanager
async def kodelet(place: Path) -> AsyncGenerator[tuple[Controller, Worker], None]:
    state = place / "state"
    async with KodeletControlPlane() as plane:
        url = plane.address
        async with KodeletRunner(server=url, workspace=place, state=state, script=HANG) as runner:
            yield plane, runner


NATIVE: Final[Mapping[Any, tuple[Mapping[str, str], tuple[str, str]]]] = {
    agency: ({"prompt": "x"}, ("start_run", "run_id")),
    rvbox: ({"line": "x"}, ("command_dispatch", "issue_uuid")),
    iop: ({"prompt": "x"}, ("run", "run_id")),
    kodelet: ({"line": "x"}, ("tool.execute", "runId")),
}
"""What each is started with, and where its own id of a run stands: frame, and member."""


def _member(value: Any, name: str) -> Any:
    """The member of this name, wherever it stands."""
    if isinstance(value, Mapping):
        found = [value[name]] if name in value else [_member(each, name) for each in value.values()]
        return next((each for each in found if each is not None), None)
    return None


@pytest.mark.parametrize("fleet", NATIVE)
async def test_what_crosses_the_wire_names_a_run_and_a_worker(fleet: Any, tmp_path: Path) -> None:
    given, (frame, member) = NATIVE[fleet]
    async with fleet(tmp_path) as (controller, worker):
        came = await controller.expect("worker", state="ready")
        assert "/" not in came["worker"]
        (known,) = await controller.workers()
        assert known["worker"] == came["worker"]
        await controller.start("r", given, worker=came["worker"])
        await controller.expect("run", type="RunAssigned", worker=came["worker"])
        await worker.expect("run", type="RunStarted")
        asked = await worker.expect("frame", dir="in", name=frame)
        await worker.emit(_member(asked.get("message"), member), {"finish": {"exit": 0}})
        assert (await controller.wait("r"))["worker"] == came["worker"]
        assert controller.runs[0]["worker"] == came["worker"]
        with pytest.raises(RunNotFound, match="open: none"):
            await worker.emit("r", {"text": "x"})
