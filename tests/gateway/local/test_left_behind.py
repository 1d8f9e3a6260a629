"""Processes that a crash left are ended by the next gateway, and no others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetgate.gateway.local.launch import Launch
from fleetgate.gateway.local.left_behind import LeftBehind
from fleetgate.gateway.local.process import boot_id, spawn, start_time


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def note_of(pid: int, **changes: object) -> str:
    return json.dumps({"pid": pid, "start": start_time(pid), "boot": boot_id(), **changes})


def test_what_is_written_down_and_lives_is_killed(tmp_path: Path, sleeper) -> None:
    left = LeftBehind(tmp_path / "p")
    assert left.end_all() == 0
    (tmp_path / "p" / "1").write_text(note_of(sleeper.pid))
    assert left.end_all() == 1
    assert sleeper.wait() == -signal.SIGKILL
    assert os.listdir(tmp_path / "p") == []


@pytest.mark.parametrize(
    "text",
    ["", '{"pid":', "[" * 100_000, "3", '{"pid": 1}', "other start", "other boot"],
)
def test_what_proves_nothing_kills_nobody(tmp_path: Path, sleeper, text: str) -> None:
    if text == "other start":
        text = note_of(sleeper.pid, start=1)
    elif text == "other boot":
        text = note_of(sleeper.pid, boot="x")
    (tmp_path / "1").write_text(text)
    assert LeftBehind(tmp_path).end_all() == 0
    assert sleeper.poll() is None
    assert os.listdir(tmp_path) == []


async def test_a_process_is_written_down_while_it_is_kept(tmp_path: Path) -> None:
    launch = Launch(("cat",), str(tmp_path), os.environ, True, False)
    group = await spawn(launch)
    kept = tmp_path / "p"
    left = LeftBehind(kept)
    left.end_all()
    with left.noted(group):
        assert json.loads((kept / str(group.pid)).read_text()) == group.note()
    assert os.listdir(kept) == []
    await group.stop()
