"""Ticks at a fixed rate."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

import trio

from fleetgate.core.times import SECOND

SHORTEST: Final = 500_000
"""Nanoseconds between two ticks that are told by themselves; faster ones are told together. One by
one the telling would be the limit from some thousand a second on."""


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
        told = 0
        rest = SHORTEST if interval < SHORTEST else 0
        while told < count:
            wait = start + told * interval - time.monotonic_ns()
            if wait > 0:
                time.sleep(max(wait, rest) / SECOND)
            due = (time.monotonic_ns() - start) // interval + 1
            some = max(1, min(due, count) - told)
            os.write(pipe, b"t" * some)
            told += some
    except BrokenPipeError:
        return  # nobody waits for the rest
    finally:
        os.close(pipe)
