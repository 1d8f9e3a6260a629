"""`gateway tail`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest

from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import DONE, HandWorker, read_until, started

Command = Callable[..., Awaitable[int]]


async def test_tail(
    command: Command, hub: Hub, worker: HandWorker, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await started(hub)
    await read_until(hub, run, 1)
    worker.record(run, e.OutputProduced(e.Stream.STDOUT, b"out\n"), e.TextProduced("t"), seq=1)
    await read_until(hub, run, 3)
    assert await command("tail", run, "--no-follow", "--after", "1", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["seq"] for line in lines] == [2, 3]
    worker.record(run, DONE, seq=2)
    assert await command("tail", run) == 0
    shown = capsys.readouterr()
    assert shown.out == "out\nt"
    assert shown.err == "given to pool/w\nsucceeded (exited), exit code 0\n"
    assert await command("tail", run, "--quiet", "--after", "2") == 0
    assert capsys.readouterr() == ("t", "")
    assert await command("tail", "none") == 1
    assert "admin/none" in capsys.readouterr().err
