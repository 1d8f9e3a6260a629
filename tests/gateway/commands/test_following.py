"""A run is followed to its end, over a restart if need be, each event once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import DONE, HandWorker, read_until, started
from fleetgate.gateway.admin.client import AdminClient, AdminError, Unreachable
from fleetgate.gateway.commands.following import PATIENCE, follow, show_recorded
from fleetgate.gateway.render import Line


class Seen:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def event(self, line: Line) -> None:
        self.lines.append(line)

    @property
    def seqs(self) -> list[int]:
        return [line["seq"] for line in self.lines]


async def test_to_the_end(client: AdminClient, hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    seen = Seen()
    async with trio.open_nursery() as nursery:

        async def following() -> None:
            outcome = await follow(client, run, seen, after=1)
            assert outcome["state"] == "succeeded"

        nursery.start_soon(following)
        await read_until(hub, run, 1)
        worker.record(run, e.TextProduced("a"), e.TextProduced("b"), seq=1)
        worker.record(run, DONE, seq=2)
    assert seen.seqs == [2, 3, 4]
    assert (await follow(client, run, Seen(), after=4))["state"] == "succeeded"


async def test_what_is_recorded(client: AdminClient, hub: Hub, worker: HandWorker) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.TextProduced("a"), seq=1)
    await read_until(hub, run, 2)
    seen = Seen()
    await show_recorded(client, run, seen, 1)
    assert seen.seqs == [2]


class Restarting:
    """A client whose gateway goes away: each stream gives what it is told to and is cut."""

    def __init__(self, *streams: list[Line] | Exception) -> None:
        self._streams = list(streams)
        self.asked: list[str] = []

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[Any]:
        self.asked.append(path)
        if not self._streams:
            raise Unreachable("nobody")
        answer = self._streams.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield _Cut(answer)


class _Cut:
    """Lines, and then the end of the connection."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = iter(lines)

    def __aiter__(self) -> _Cut:
        return self

    async def __anext__(self) -> Line:
        for line in self._lines:
            return line
        raise Unreachable("cut")


def _line(seq: int) -> Line:
    if seq < 5:
        return {"seq": seq, "type": "TextProduced"}
    return {"seq": seq, "type": "RunFinished", "outcome": {"state": "succeeded"}}


async def test_over_restarts_every_event_comes_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client: Any = Restarting(
        [_line(1), _line(2)],
        Unreachable("starting"),
        Unreachable("starting"),
        [],
        [_line(3), _line(4)],
        [_line(5)],
    )
    seen, losses = Seen(), list[str]()
    outcome = await follow(client, "r", seen, lost=losses.append)
    assert outcome == {"state": "succeeded"}
    assert seen.seqs == [1, 2, 3, 4, 5]
    assert losses == ["cut; waiting for it, 60 s at most"] * 3
    assert client.asked[-1].endswith("?after=4&follow=1")


async def test_a_gateway_that_stays_away_is_given_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client: Any = Restarting([_line(1)])
    start = trio.current_time()
    with pytest.raises(Unreachable, match="nobody"):
        await follow(client, "r", Seen())
    assert PATIENCE <= trio.current_time() - start <= PATIENCE + 1


async def test_a_gateway_that_was_never_there_is_not_waited_for() -> None:
    client: Any = Restarting()
    with pytest.raises(Unreachable):
        await follow(client, "r", Seen())
    assert len(client.asked) == 1


async def test_a_run_that_the_restart_forgot_is_said_to_be(
    autojump_clock: trio.testing.MockClock,
) -> None:
    client: Any = Restarting([_line(1)], AdminError("not_found", "no such run"))
    with pytest.raises(AdminError):
        await follow(client, "r", Seen())
