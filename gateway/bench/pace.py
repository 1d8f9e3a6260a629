"""Ticks at a fixed rate."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import trio

from fleetgate.core.times import SECOND


class Pace(Protocol):
    """Says when events are due."""

    async def due(self) -> Sequence[int]:
        """Wait for the next, and answer the times of all that are due by now, late ones too:
        nanoseconds of the monotonic clock. Empty behind the last."""
        ...


class ThreadPace:
    """Ticks from a thread, through a pipe: a loop that waits in `epoll` wakes on whole
    milliseconds, a thread that sleeps within some tens of microseconds."""

    def __init__(self, stream: trio.lowlevel.FdStream, start: int, interval: int) -> None:
        self._stream = stream
        self._next = start
        self._interval = interval

    async def due(self) -> Sequence[int]:
        ticks = len(await self._stream.receive_some())
        times = [self._next + nth * self._interval for nth in range(ticks)]
        self._next += ticks * self._interval
        return times


@asynccontextmanager
async def open_pace(rate: int, count: int) -> AsyncGenerator[ThreadPace]:
    """`count` ticks, `rate` a second, the first one at once. Leaving early ends the thread."""
    reading, writing = os.pipe()
    interval = SECOND // rate
    start = time.monotonic_ns()
    thread = threading.Thread(target=_tick, args=(writing, start, interval, count), daemon=True)
    async with trio.lowlevel.FdStream(reading) as stream:
        thread.start()
        yield ThreadPace(stream, start, interval)


def _tick(pipe: int, start: int, interval: int, count: int) -> None:
    try:
        for nth in range(count):
            wait = start + nth * interval - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait / SECOND)
            os.write(pipe, b"t")
    except BrokenPipeError:
        return  # nobody waits for the rest
    finally:
        os.close(pipe)
