"""The power goes at any point: what was acknowledged is there, and nothing else is torn (I2).

Each example plays a history on the real journal over a disk that records, then opens what every
point of it would leave. Fault 22: an acknowledgement means synced, and a torn tail is cut.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetgate.core.drawing import USUAL, examples
from fleetgate.core.ids import RunId
from fleetgate.core.journal import sqlite, tables
from fleetgate.core.journal.api import (
    Append,
    ForgetRun,
    FreeForgotten,
    Journal,
    PutNote,
    PutRun,
    Write,
)
from fleetgate.core.journal.migrations import migrate
from fleetgate.core.journal.samples import ended, make_events, make_run
from fleetgate.core.journal.sqlite import open_sqlite_journal
from fleetgate.core.journal.torn import (
    Deed,
    Fate,
    Files,
    Mark,
    Part,
    Recorder,
    Synced,
    all_of,
    left_by,
    nothing,
    promised_in,
)
from fleetgate.core.journal.vfs import sqlite_on

FILE = "journal.db"
RUNS = [make_run(name, created=at) for at, name in enumerate("abc", 1)]


@attrs.frozen
class Step:
    """Events of one run, `size` bytes each, in one commit with the number of the step."""

    run: int
    count: int
    size: int
    apart: bool
    """Wait for its answer before the next step; else they are committed in groups."""


@attrs.frozen
class History:
    """What is done; the journal is closed and opened again before the step `reopen`."""

    steps: Sequence[Step]
    checkpoint: int
    """Pages of the log at which it is moved into the file."""
    reopen: int
    seed: int


steps = st.builds(
    Step, st.integers(0, 2), st.integers(1, 4), st.sampled_from([9, 300, 5000]), st.booleans()
)
histories = st.builds(
    History,
    st.lists(steps, min_size=2, max_size=8),
    st.sampled_from([1, 8, 1000]),
    st.integers(0, 8),
    st.integers(0, 1 << 32),
)


def writes_of(history: History, number: int) -> list[Write]:
    """The writes of a step: they depend on those before it, and on nothing else."""
    step = history.steps[number - 1]
    run = RUNS[step.run]
    first = 1 + sum(each.count for each in history.steps[: number - 1] if each.run == step.run)
    writes: list[Write] = [PutRun(run)] if first == 1 else []
    events = make_events(run.id, first, step.count, step.size)
    return [
        *writes,
        Append(run.id, events, events[-1].seq),
        PutNote("torn", "step", str(number).encode()),
    ]


Pragma = str


async def play(
    path: Path, disk: Recorder, history: History, done: int, until: int, pragma: Pragma = ""
) -> None:
    """The steps behind `done`, up to `until`."""

    def connect(path: Path) -> sqlite3.Connection:
        connection = sqlite.connect(path)
        connection.execute(f"PRAGMA wal_autocheckpoint = {history.checkpoint}")
        connection.execute(pragma)
        return connection

    async with open_sqlite_journal(path, connect=connect) as journal:
        disk.mark(done)  # it is open, so whatever it holds can be seen
        await _play_steps(journal, disk, history, range(done + 1, until + 1))


async def _play_steps(
    journal: Journal, disk: Recorder, history: History, numbers: Sequence[int]
) -> None:
    for number in numbers:
        answered = trio.Event()

        def note(
            error: Exception | None, number: int = number, answered: trio.Event = answered
        ) -> None:
            assert error is None
            disk.mark(number)
            answered.set()

        journal.enqueue(writes_of(history, number), note)
        if history.steps[number - 1].apart or number == numbers[-1]:
            await answered.wait()


def sync(disk: Recorder, folder: Path, file: int) -> None:
    """What the journal syncs itself."""
    (name,) = [path for path in folder.iterdir() if os.path.samestat(path.stat(), os.fstat(file))]
    disk.sync(str(name), folder=False)


def play_all(
    folder: Path, log: Sequence[Deed], history: History, done: int = 0, pragma: Pragma = ""
) -> list[Deed]:
    """The log, and behind it that of the rest of the history."""
    disk = Recorder(log)
    ends = sorted({min(max(history.reopen, done), len(history.steps)), len(history.steps)})
    with sqlite_on(disk), patch("os.fsync", partial(sync, disk, folder)):
        for until in ends:
            trio.run(play, folder / FILE, disk, history, done, until, pragma)
            done = until
    return disk.log


def put(folder: Path, files: Files) -> Path:
    (folder / FILE).touch()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def found_in(files: Files, history: History) -> int:
    """How many steps the journal has that opens on `files`; it is whole, and has no half."""
    with TemporaryDirectory() as folder:
        path = put(Path(folder), files) / FILE
        with closing(sqlite.connect(path)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            migrate(connection)
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            done = int(tables.notes(connection, "torn").get("step", b"0"))
            wanted = [write for n in range(1, done + 1) for write in writes_of(history, n)]
            for run in RUNS:
                compare(connection, run.id, wanted)
    return done


def compare(connection: sqlite3.Connection, run: RunId, wanted: Sequence[Write]) -> None:
    appends = [write for write in wanted if isinstance(write, Append) and write.id == run]
    events = [event for write in appends for event in write.events]
    assert tables.read(connection, run, 0, 1 << 20, 1 << 30) == events
    kept = tables.get(connection, run)
    assert (kept.last_seq if kept else 0) == len(events)


def by_chance(random: Random) -> Fate:
    """Of each write all, nothing, its beginning, its end, or what lies between."""

    def fate(size: int) -> Part:
        kind = random.randrange(5)
        if kind < 2:
            return (0, size) if kind else (0, 0)
        start, end = sorted((random.randrange(size + 1), random.randrange(size + 1)))
        return (start if kind > 2 else 0, end if kind < 4 else size)

    return fate


def last_torn(random: Random, unsynced: int) -> Fate:
    """All is there but that of the last write something lacks."""
    left = unsynced

    def fate(size: int) -> Part:
        nonlocal left
        left -= 1
        return (0, size) if left else (0, random.randrange(size))

    return fate


def unsynced_in(log: Sequence[Deed]) -> int:
    """How many deeds `left_by` asks the fate of."""
    asked: list[int] = []
    left_by(log, lambda size: (asked.append(size), (0, 0))[1])
    return len(asked)


def fates(log: Sequence[Deed], random: Random) -> list[Fate]:
    """What may become of what is not synced: all kinds in a deep run, else one of them."""
    torn = last_torn(random, unsynced_in(log))
    kinds = [nothing, torn, by_chance(random), by_chance(random)]
    return kinds if settings().max_examples > USUAL else [random.choice(kinds)]


def check_cuts(
    log: Sequence[Deed],
    history: History,
    random: Random,
    start: int = 0,
    before: Files | None = None,
) -> int:
    """Open what each point of the log behind `start` leaves; answers how many that were."""
    seen: set[frozenset[tuple[str, bytes]]] = set()
    for cut in range(start, len(log) + 1):
        past = log[:cut]
        for fate in fates(past, random):
            left = left_by(past, fate, before)
            which = frozenset(left.items())
            if which not in seen:
                seen.add(which)
                assert promised_in(past) <= found_in(left, history)
    return len(seen)


@settings(max_examples=examples(2))
@given(histories)
def test_i2_fault_22_what_was_promised_is_there_wherever_the_power_goes(history: History) -> None:
    with TemporaryDirectory() as folder:
        log = play_all(Path(folder), (), history)
    assert promised_in(log) == len(history.steps)
    assert check_cuts(log, history, Random(history.seed)) > len(log) // 4


@settings(max_examples=examples(2))
@given(histories, st.floats(0, 1))
def test_i2_what_a_restart_has_shown_is_there_wherever_the_power_goes(
    history: History, killed: float
) -> None:
    """The process is killed first: what it wrote is in the files, and not all of it synced. What
    the next one finds there can be seen by anyone from then on."""
    with TemporaryDirectory() as folder:
        log = play_all(Path(folder), (), history)
    log = log[: int(killed * len(log))]
    left = left_by(log, all_of)
    done = found_in(left, history)
    with TemporaryDirectory() as folder:
        whole = play_all(put(Path(folder), left), log, history, done)
    assert promised_in(whole) == len(history.steps)
    check_cuts(whole, history, Random(history.seed), start=len(log))


@settings(max_examples=examples(2))
@given(histories, st.floats(0, 1))
def test_i2_what_was_promised_is_there_after_a_second_cut(history: History, gone: float) -> None:
    """A journal that was recovered goes on, and the power goes again."""
    random = Random(history.seed)
    with TemporaryDirectory() as folder:
        log = play_all(Path(folder), (), history)
    left = left_by(log[: int(gone * len(log))], by_chance(random))
    with TemporaryDirectory() as folder:
        again = play_all(put(Path(folder), left), (), history, found_in(left, history))
    check_cuts(again, history, random, before=left)


@pytest.mark.parametrize("pragma", ["PRAGMA synchronous = OFF", "PRAGMA synchronous = NORMAL"])
def test_a_journal_that_does_not_sync_is_found_out(pragma: str, tmp_path: Path) -> None:
    history = History([Step(0, 2, 300, True), Step(1, 2, 300, True)], 1000, 0, 0)
    log = play_all(tmp_path, (), history, pragma=pragma)
    cut = max(at for at, deed in enumerate(log, 1) if deed == Mark(2))
    assert found_in(left_by(log[:cut], all_of), history) == 2
    assert found_in(left_by(log[:cut], nothing), history) < 2


async def forget_one(path: Path, disk: Recorder) -> None:
    """Two runs that have ended; one is forgotten, and what it took is freed."""
    async with open_sqlite_journal(path) as journal:
        for run in RUNS[:2]:
            events = make_events(run.id, 1, 3, 5000)
            await journal.commit([PutRun(run), Append(run.id, events, 3, ended(run, 3))])
        disk.mark(1)
        await journal.commit([ForgetRun(RUNS[0].id)])
        disk.mark(2)
        await journal.commit([FreeForgotten()])
        disk.mark(3)


def test_i2_a_run_is_forgotten_whole_or_not_at_all_wherever_the_power_goes(tmp_path: Path) -> None:
    disk, random = Recorder(), Random(1)
    with sqlite_on(disk), patch("os.fsync", partial(sync, disk, tmp_path)):
        trio.run(forget_one, tmp_path / FILE, disk)
    start = disk.log.index(Mark(1)) + 1
    for cut in range(start, len(disk.log) + 1):
        past = disk.log[:cut]
        left = left_by(past, by_chance(random))
        with (
            TemporaryDirectory() as folder,
            closing(sqlite.connect(put(Path(folder), left) / FILE)) as connection,
        ):
            found = [len(tables.read(connection, run.id, 0, 9, 1 << 20)) for run in RUNS[:2]]
            known = [tables.get(connection, run.id) is not None for run in RUNS[:2]]
            rows = connection.execute("SELECT count(*) FROM events").fetchone()
        assert found[1:] == [3]
        assert found[0] == (3 if known[0] else 0)
        assert promised_in(past) < 2 or not known[0]
        assert promised_in(past) < 3 or rows == (3,)


def test_i2_a_commit_that_nobody_was_told_of_is_shown_only_once_it_is_safe(tmp_path: Path) -> None:
    """The process is killed between a commit's last write and its sync, and started again."""
    history = History([Step(0, 2, 300, True), Step(1, 2, 300, True)], 1000, 0, 0)
    log = play_all(tmp_path, (), history)
    told = max(at for at, deed in enumerate(log) if deed == Mark(2))
    log = log[: max(at for at, deed in enumerate(log[:told]) if isinstance(deed, Synced))]
    left = left_by(log, all_of)
    assert (promised_in(log), found_in(left, history)) == (1, 2)
    with TemporaryDirectory() as folder:
        whole = play_all(put(Path(folder), left), log, attrs.evolve(history, reopen=2), done=2)
    shown = whole.index(Mark(2)) + 1
    assert found_in(left_by(whole[:shown], nothing), history) == 2
