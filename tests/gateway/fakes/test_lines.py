"""Lines in and out, whatever kind of file they come from."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from fleetgate.gateway.fakes.lines import LineReader, LineWriter, OutputLost, TooLong


@pytest.fixture
async def pipe() -> AsyncIterator[tuple[int, int]]:
    theirs, ours = os.pipe()
    yield theirs, ours
    for fd in (theirs, ours):
        try:
            os.close(fd)
        except OSError:
            continue  # the test closed it


async def test_lines_come_whole_however_they_are_cut(pipe: tuple[int, int]) -> None:
    theirs, ours = pipe
    reader = LineReader(theirs)
    os.write(ours, b"one\ntw")
    assert await reader.next() == b"one"
    os.write(ours, b"o\n\nthree")
    assert await reader.next() == b"two"
    assert await reader.next() == b""
    os.close(ours)
    assert await reader.next() == b"three"
    assert await reader.next() is None


async def test_a_line_above_the_limit_is_passed_over(pipe: tuple[int, int]) -> None:
    theirs, ours = pipe
    reader = LineReader(theirs, limit=10)
    os.write(ours, b"x" * 10 + b"\n" + b"y" * 11 + b"\n" + b"z" * 100 + b"\nnext\n")
    assert await reader.next() == b"x" * 10
    for _ in range(2):
        with pytest.raises(TooLong, match="10 bytes"):
            await reader.next()
    assert await reader.next() == b"next"


@given(st.lists(st.binary(max_size=20).filter(lambda b: b"\n" not in b)), st.integers(1, 12))
def test_any_lines_from_a_file_are_what_was_written(lines: list[bytes], limit: int) -> None:
    async def read() -> list[bytes | str]:
        read_fd = os.memfd_create("lines")
        os.write(read_fd, b"".join(line + b"\n" for line in lines))
        os.lseek(read_fd, 0, os.SEEK_SET)
        reader = LineReader(read_fd, limit)
        got: list[bytes | str] = []
        try:
            while True:
                try:
                    line = await reader.next()
                except TooLong:
                    got.append("too long")
                    continue
                if line is None:
                    return got
                got.append(line)
        finally:
            os.close(read_fd)

    assert trio.run(read) == [line if len(line) <= limit else "too long" for line in lines]


async def test_writing_keeps_objects_whole_and_in_order(pipe: tuple[int, int]) -> None:
    theirs, ours = pipe
    writer = LineWriter(ours)
    big = "x" * 300_000

    async def write() -> None:
        for number in range(5):
            await writer.write({"n": number, "text": big})
        os.close(ours)

    got: list[int] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        reader = LineReader(theirs)
        while (line := await reader.next()) is not None:
            got.append(json.loads(line)["n"])
    assert got == [0, 1, 2, 3, 4]


async def test_writing_to_nobody_is_an_os_error(pipe: tuple[int, int]) -> None:
    theirs, ours = pipe
    os.close(theirs)
    with pytest.raises(OSError, match="pipe"):
        await LineWriter(ours).write({"a": 1})


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    reader = LineReader(os.open(os.devnull, os.O_RDONLY))
    assert await reader.next() is None


async def test_output_that_cannot_be_written_says_so(pipe: tuple[int, int]) -> None:
    theirs, ours = pipe
    os.close(theirs)
    with pytest.raises(OutputLost, match="standard output cannot be written: Broken pipe") as gone:
        await LineWriter(ours).write({"a": 1})
    assert gone.value.unread
    full = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OutputLost, match="No space left") as lost:
        await LineWriter(full).write({"a": 1})
    assert not lost.value.unread
    os.close(full)
