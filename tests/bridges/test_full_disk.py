"""A disk that is full, broken or read-only under a gateway's real journal: what is there is kept,
new work is refused, and it goes on by itself. Faults 22 to 24.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from bridge_journal import work_in_turn
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.ids import RunId
from fleetgate.core.journal import vfs
from fleetgate.core.journal.offline import Seen, opened, verify
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.journal.vfs import FailingDisk, sqlite_on
from fleetgate.gateway.fidelity.bridge import Bridge, open_bridge, until

OK = e.RunFinished(Outcome(RunState.SUCCEEDED, Reason.EXITED, exit_code=0))

CASES = [
    ("agency-rvbox", "write", vfs.FULL),
    ("agency-rvbox", "write", vfs.IOERR_WRITE),
    ("agency-rvbox", "sync", vfs.IOERR_FSYNC),
    ("agency-rvbox", "write", vfs.READONLY),
    ("rvbox-agency", "write", vfs.FULL),
    ("iop-iop", "write", vfs.FULL),
    ("kodelet-kodelet", "write", vfs.FULL),
]


@pytest.fixture
def disk() -> FailingDisk:
    return FailingDisk()


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
async def failing(
    request: pytest.FixtureRequest,
    disk: FailingDisk,
    tmp_path: Path,
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[Bridge, dict[str, int]]]:
    """A bridge on a journal on that disk, and how the disk is to fail."""
    pair, call, code = request.param
    work_in_turn(monkeypatch)
    north, _, south = pair.partition("-")
    with sqlite_on(disk):
        journal = partial(open_sqlite_journal, tmp_path / "journal.db")
        async with open_bridge(north, south, journal) as bridge:
            yield bridge, {call: code}
            disk.codes = {}
    with opened(tmp_path / "journal.db") as connection:
        seen = Seen()
        assert list(verify(connection, seen)) == []
        assert seen.events > 0


async def test_a_run_outlasts_a_disk_that_fails_and_new_ones_are_refused(
    failing: tuple[Bridge, dict[str, int]],
    disk: FailingDisk,
    words: Any,
    autojump_clock: MockClock,
) -> None:
    bridge, codes = failing
    told: list[str | None] = []
    bridge.gateway.journal.watch(told.append)
    run = await bridge.start("r1", "r1")
    at_worker = await bridge.given("r1")
    bridge.say(at_worker, e.RunStarted(), e.TextProduced("before\n"))
    await until(lambda: words(bridge, run) == "before\n")
    disk.codes = codes
    bridge.say(at_worker, e.TextProduced("during\n"))
    await until(lambda: bridge.gateway.journal.pressure().failing is not None)
    with pytest.raises(Unavailable, match="cannot be written"):
        await start_at_gateway(bridge, "refused")
    await trio.sleep(40)
    assert words(bridge, run) == "before\n"  # I2: durable, then visible
    assert (await bridge.seen(run)).state is RunState.RUNNING
    disk.codes = {}
    await until(lambda: words(bridge, run) == "before\nduring\n")
    bridge.say(at_worker, e.TextProduced("after\n"), OK)
    assert (await bridge.ended(run)).state is RunState.SUCCEEDED
    assert words(bridge, run) == "before\nduring\nafter\n"
    bridge.check(run)
    assert ["SQLITE_" in (each or "") for each in told] == [True, False]
    other = await bridge.start("r2", "r2")
    bridge.say(await bridge.given("r2"), OK)
    assert (await bridge.ended(other)).state is RunState.SUCCEEDED


async def start_at_gateway(bridge: Bridge, name: str) -> None:
    """Start a run at the gateway itself, as its operator does."""
    spec = c.RunSpec(c.ShellCommand(line="true"))
    await bridge.gateway.hub.submit(c.StartRun(RunId(f"gui/{name}"), spec, c.Origin("gui", name)))
