"""Lines that wait for a slow reader."""

from __future__ import annotations

import os

import pytest
import trio

from fleetgate.gateway.recording.backlog import Backlog, write_all


def gap(missing: int) -> bytes:
    return b"-%d-" % missing


async def test_what_waits_is_taken_at_once_and_in_order() -> None:
    backlog = Backlog(gap)
    assert backlog.put(b"a\n")
    assert backlog.put(b"b\n")
    assert await backlog.take() == b"a\nb\n"


@pytest.mark.limit("gateway/recording/backlog.LINES", "gateway/recording/backlog.SIZE")
async def test_it_is_bounded_in_lines_and_bytes_and_counts_the_rest() -> None:
    backlog = Backlog(gap, lines=2, size=10)
    assert [backlog.put(b"12345") for _ in range(3)] == [True, True, False]
    assert backlog.left_out == 1
    assert await backlog.take() == b"1234512345"
    assert [backlog.put(b"123456") for _ in range(2)] == [True, False]
    assert backlog.left_out == 2
    assert await backlog.take() == b"-1-123456"


async def test_whoever_waits_is_woken_by_a_line_and_by_the_end() -> None:
    backlog = Backlog(gap)
    taken: list[bytes] = []

    async def take() -> None:
        while data := await backlog.take():
            taken.append(data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        await trio.testing.wait_all_tasks_blocked()
        backlog.put(b"a")
        await trio.testing.wait_all_tasks_blocked()
        backlog.end()
    assert taken == [b"a"]


async def test_cancelled_it_takes_nothing() -> None:
    backlog = Backlog(gap)
    backlog.put(b"a")
    with trio.CancelScope() as scope:
        scope.cancel()
        await backlog.take()
    assert await backlog.take() == b"a"


def test_all_is_written_however_little_a_write_takes() -> None:
    there, here = os.pipe()
    write_all(here, b"x" * 1000)
    os.close(here)
    assert os.read(there, 2000) == b"x" * 1000
    os.close(there)
