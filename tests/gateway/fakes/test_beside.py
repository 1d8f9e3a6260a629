"""Waiting for a fake beside a loop: trio's, asyncio's, and asyncio's inside trio's."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator

import pytest
import trio

from fleetgate.gateway.fakes import AgencyDaemon, NotSeen
from fleetgate.gateway.fakes.beside import aside, check_no_loop
from fleetgate.gateway.fakes.threads import AgencyDaemon as DaemonInThread
from fleetgate.gateway.fakes.threads import Worker


@pytest.fixture
def daemon() -> Iterator[Worker[AgencyDaemon]]:
    with (
        tempfile.TemporaryDirectory() as place,
        DaemonInThread(socket=f"{place}/s") as daemon,
    ):
        yield daemon


async def on_trio(daemon: Worker[AgencyDaemon], path: str) -> None:
    with pytest.raises(RuntimeError, match="await aside"):
        daemon.expect("link")
    async with await trio.open_unix_socket(path):
        assert (await aside(daemon.expect, "link", state="up"))["reason"] == ""
    with trio.move_on_after(0.01) as scope:
        await aside(daemon.expect, "frame", within=0.1)
    assert scope.cancelled_caught


async def on_asyncio(daemon: Worker[AgencyDaemon], path: str) -> None:
    with pytest.raises(RuntimeError, match="await aside"):
        daemon.expect("link")
    _, writer = await asyncio.open_unix_connection(path)
    assert (await aside(daemon.expect, "link", state="up"))["reason"] == ""
    writer.close()
    await writer.wait_closed()
    with pytest.raises(NotSeen):
        await aside(daemon.expect, "frame", name="nothing", within=0)


def test_beside_trio(daemon: Worker[AgencyDaemon]) -> None:
    trio.run(on_trio, daemon, daemon.address.removeprefix("unix:"))


@pytest.mark.parametrize("policy", ["asyncio", "trio-asyncio"])
def test_beside_asyncio(daemon: Worker[AgencyDaemon], policy: str) -> None:
    """Whoever uses gRPC here has imported trio-asyncio, which replaces the policy of asyncio."""
    if policy == "trio-asyncio":
        import trio_asyncio

        assert trio_asyncio.__version__
    asyncio.run(on_asyncio(daemon, daemon.address.removeprefix("unix:")))


def test_where_no_loop_runs_nothing_is_held_up() -> None:
    check_no_loop("a fake")
