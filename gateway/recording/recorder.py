"""Writing items to a file, and never in the way of what is recorded."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import trio

from fleetgate.gateway.clock import Clock
from fleetgate.gateway.recording import form
from fleetgate.gateway.recording.backlog import LINES, Backlog, write_all
from fleetgate.gateway.render import Line, encode

LAST_WRITES: Final = 10.0
"""Seconds that what waits may take to be written at the end: as long as a gateway drains."""


class CannotRecord(Exception):
    """The file cannot be written; the text says why."""


class Recorder:
    """Takes items, and writes them in order. A disk that does not keep up costs items, which are
    counted in their place; one that fails ends the recording and nothing else."""

    def __init__(self, clock: Clock, failed: Callable[[str], None], lines: int) -> None:
        self._clock = clock
        self._failed = failed
        self._backlog = Backlog(lambda missing: encode(form.lost(clock(), missing)), lines)
        self._broken = False
        self._frames = 0
        # Whoever records may be cancelled at any time; what is in line is written all the same.
        self._writing = trio.CancelScope(shield=True)

    def put(self, line: Line) -> None:
        """Record an item."""
        if not self._broken and self._backlog.put(encode(line)):
            self._frames += line.get("event") == "frame"

    def finish(self) -> None:
        """Nothing more comes."""
        lost = self._backlog.left_out
        self._backlog.put(encode(form.end(self._clock(), self._frames, lost)))
        self._backlog.end()
        self._writing.deadline = trio.current_time() + LAST_WRITES

    @property
    def waiting(self) -> int:
        """Lines that are not with the writer yet."""
        return len(self._backlog)

    async def write(self, fd: int) -> None:
        """Write what comes, to the end."""
        with self._writing:
            while data := await self._backlog.take():
                try:
                    await trio.to_thread.run_sync(write_all, fd, data, abandon_on_cancel=True)
                except OSError as error:
                    self._broken = True
                    self._failed(f"{error.strerror}; nothing more is recorded")
                    return


@asynccontextmanager
async def open_recorder(
    path: str,
    clock: Clock,
    protocols: dict[str, str],
    failed: Callable[[str], None],
    lines: int = LINES,
) -> AsyncGenerator[Recorder, None]:
    """Begin a recording; what was in the file is gone. It ends with the block: what waits then is
    written, within `LAST_WRITES`. `failed` is told if it cannot be kept up. `lines` may wait.

    Raises: `CannotRecord`.
    """
    fd = _open(path)
    recorder = Recorder(clock, failed, lines)
    try:
        recorder.put(form.header(clock(), protocols))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(recorder.write, fd)
            try:
                yield recorder
            finally:
                recorder.finish()
    finally:
        os.close(fd)


def _open(path: str) -> int:
    """The file, ours alone: it holds what people said, if no secrets."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise CannotRecord(f"{path} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise CannotRecord(f"{path} is being written by another process") from None
    with suppress(OSError):  # a pipe or a device has nothing to cut off
        os.ftruncate(fd, 0)
    os.set_blocking(fd, True)
    return fd
