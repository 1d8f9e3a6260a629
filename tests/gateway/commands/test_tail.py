"""`gateway tail`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest
import trio

from fleetgate.core import events as e
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import (
    DONE,
    HandWorker,
    hub_on,
    read_until,
    started,
    worker_info,
)
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.gateway.admin.api import Api
from fleetgate.gateway.admin.server import open_admin
from fleetgate.gateway.cli import main
from fleetgate.gateway.render import Line

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


async def test_of_a_run_whose_record_is_damaged_it_says_what_to_do(
    tmp_path: Path, status: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not that the gateway went away: it would be waited for, and asked again and again."""
    path = tmp_path / "journal.db"
    async with open_sqlite_journal(path) as journal, hub_on(journal) as hub:
        worker = HandWorker(hub, worker_info())
        await worker.join()
        run = await started(hub)
        worker.record(run, e.TextProduced("one"), seq=1)
        worker.record(run, e.TextProduced("two"), DONE, seq=2)
        await read_until(hub, run, 4)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET record = x'ff' WHERE place & 7 = 3")
    async with (
        open_sqlite_journal(path) as journal,
        hub_on(journal) as hub,
        open_admin(f"unix:{tmp_path}/own/s") as server,
        trio.open_nursery() as nursery,
    ):
        api = Api(hub, lambda: status, lambda: None, lambda: "new")
        nursery.start_soon(server.serve, api.handle, lambda fault: None)
        words = ["tail", "--admin", server.address, run]
        assert await trio.to_thread.run_sync(main, words) == 1
        nursery.cancel_scope.cancel()
    said = capsys.readouterr()
    assert "damaged" in said.err
    assert "`gateway journal verify`" in said.err
    assert "went away" not in said.err
    assert "waiting" not in said.err
