"""Writing a recording."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
import trio

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.recording.recorder import CannotRecord, open_recorder

FRAME = {"event": "frame", "n": 1}


def never(reason: str) -> None:
    raise AssertionError(reason)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_recording_has_a_header_its_items_and_an_end(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("what was there before, and longer than what comes" * 20)
    async with open_recorder(str(path), Clock(), {"agency": "0.3"}, never) as recorder:
        recorder.put(FRAME)
        recorder.put({"event": "over"})
    header, frame, over, end = lines(path)
    assert header["recording"] == 1
    assert frame == FRAME
    assert over == {"event": "over"}
    assert (end["event"], end["frames"], end["lost"]) == ("end", 1, 0)


async def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    async with open_recorder(str(path), Clock(), {}, never):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_what_waits_is_written_though_whoever_records_is_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with trio.CancelScope() as scope:
        async with open_recorder(str(path), Clock(), {}, never) as recorder:
            recorder.put(FRAME)
            scope.cancel()
            recorder.put(FRAME)
            await trio.sleep_forever()
    assert [line.get("event") for line in lines(path)] == [None, "frame", "frame", "end"]


async def test_what_finds_no_room_is_counted_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    async with open_recorder(str(path), Clock(), {}, never, lines=4) as recorder:
        for _ in range(7):
            recorder.put(FRAME)
        while recorder.waiting:
            await trio.lowlevel.checkpoint()
        recorder.put(FRAME)
    found = lines(path)
    assert [line.get("event") for line in found] == [
        None,
        *["frame"] * 3,
        "lost",
        "frame",
        "end",
    ]
    assert found[4]["items"] == 4
    assert (found[-1]["frames"], found[-1]["lost"]) == (4, 4)


async def test_a_disk_that_fails_ends_the_recording_and_nothing_else() -> None:
    said: list[str] = []
    async with open_recorder("/dev/full", Clock(), {}, said.append) as recorder:
        while not said:
            await trio.lowlevel.checkpoint()
        recorder.put(FRAME)
    assert said == ["No space left on device; nothing more is recorded"]


async def test_two_do_not_write_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "r.jsonl")
    async with open_recorder(path, Clock(), {}, never) as recorder:
        recorder.put(FRAME)
        with pytest.raises(CannotRecord, match="another process"):
            async with open_recorder(path, Clock(), {}, never):
                pass
    assert len(lines(Path(path))) == 3


@pytest.mark.parametrize("name", ["missing/r.jsonl", "."])
async def test_a_file_that_cannot_be_written_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(CannotRecord, match="cannot be written"):
        async with open_recorder(os.path.join(tmp_path, name), Clock(), {}, never):
            pass
