"""A process that is killed at any moment: what it acknowledged is there, and nothing is torn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fleetgate.core.events import Recorded, TextProduced
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import Journal, RunFilter
from fleetgate.core.journal.sqlite import open_sqlite_journal

WRITER = """
import sys, trio
from fleetgate.core.commands import Origin, Prompt, RunSpec
from fleetgate.core.events import Recorded, TextProduced
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.journal.api import Append, PutNote, PutRun
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.run import Run

async def main():
    async with open_sqlite_journal(sys.argv[1]) as journal:
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(write, journal, RunId(name))

async def write(journal, id):
    run = await journal.get(id)
    if run is None:
        run = Run(id, RunSpec(Prompt("x")), Origin("l", id), 1)
        await journal.commit([PutRun(run)])
    seq = run.last_seq
    while True:
        for _ in range(8):
            seq += 1
            event = Recorded(id, Seq(seq), seq, TextProduced(f"{id}{seq} " * 40))
            writes = [Append(id, (event,), seq), PutNote("last", id, str(seq).encode())]
            journal.enqueue(writes, lambda error, seq=seq: print(id, seq, error, flush=True))
        await journal.wait_room()
        await trio.sleep(0)

trio.run(main)
"""


def write_and_kill(path: Path, lines: int) -> dict[str, int]:
    """Let a process write, kill it after so many acknowledgements, and give the last of each
    run: all that it said before it died counts."""
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.readlines()
    acknowledged: dict[str, int] = {}
    for line in said:
        if line.endswith("\n"):
            run, seq, error = line.split()
            assert error == "None"
            assert int(seq) == acknowledged.get(run, int(seq) - 1) + 1
            acknowledged[run] = int(seq)
    assert sum(acknowledged.values()) >= lines
    return acknowledged


async def whole(journal: Journal, run: RunId) -> list[Recorded]:
    return list(await journal.read(run, Seq(0), items=1 << 20, size=1 << 30))


@pytest.mark.parametrize("lines", [(1, 3, 200), (40, 41, 1)])
async def test_i2_what_was_acknowledged_survives_a_kill(
    tmp_path: Path, lines: tuple[int, ...]
) -> None:
    path = tmp_path / "journal.db"
    for count in lines:
        acknowledged = write_and_kill(path, count)
        async with open_sqlite_journal(path) as journal:
            notes = await journal.notes("last")
            runs = await journal.find(RunFilter())
            assert {run.id for run in runs} >= acknowledged.keys()
            for run in runs:
                events = await whole(journal, run.id)
                assert run.last_seq == len(events) >= acknowledged.get(run.id, 0)
                assert [event.seq for event in events] == list(range(1, len(events) + 1))
                assert notes.get(run.id, b"0") == str(len(events)).encode()
                for event in events:
                    assert event.event == TextProduced(f"{run.id}{event.seq} " * 40)
