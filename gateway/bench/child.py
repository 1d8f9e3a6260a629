"""A process of the bench, and the lines that it writes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import trio

from fleetgate.gateway.bench.task import BenchFailed
from fleetgate.transports.framing import make_framer

LONGEST_LINE: Final = 64 << 20
"""Bytes of a line: a sample of a paced task has some ten of them for each event."""

KEPT: Final = 4096
"""Lines that wait to be looked for; older ones are dropped. A gateway writes a dozen, and a client
that says each event has a pipe's worth of them read at a time."""

SHOWN: Final = 10
"""Lines that an error shows."""

END_WITHIN: Final = 5.0
"""Seconds that a process has to end when asked. Then it is killed."""

_T = TypeVar("_T")


class Child:
    """A running process. What it writes on stdout and stderr is read all the time."""

    def __init__(self, name: str, process: trio.Process) -> None:
        self._name = name
        self._process = process
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._shown: deque[str] = deque(maxlen=SHOWN)
        self._news = trio.Event()
        self._ended = False

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def read(self) -> None:
        """Take in its lines, until it has closed its output."""
        framer = make_framer("text_lines", LONGEST_LINE)
        assert self._process.stdout is not None
        async for data in self._process.stdout:
            for frame in framer.feed(data):
                line = frame.decode("utf-8", "replace")
                self._lines.append(line)
                self._shown.append(line[:500])
            self._tell()
        self._ended = True
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def line(self, wanted: Callable[[str], _T | None]) -> _T:
        """Wait for a line of which `wanted` makes something, and answer that. Lines before it
        are dropped.

        Raises: `BenchFailed`: it ended without such a line.
        """
        while True:
            while self._lines:
                found = wanted(self._lines.popleft())
                if found is not None:
                    return found
            if self._ended:
                raise BenchFailed(f"the {self._name} ended too early")
            await self._news.wait()

    async def tell(self, line: str) -> None:
        """Write a line to it; only to one that was opened to `listen`.

        Raises: `BenchFailed`: it does not take it.
        """
        assert self._process.stdin is not None
        try:
            await self._process.stdin.send_all(f"{line}\n".encode())
        except trio.BrokenResourceError:
            raise BenchFailed(f"the {self._name} ended too early") from None

    async def watch(self) -> None:
        """Wait until it has ended.

        Raises: `BenchFailed`: it has.
        """
        while not self._ended:
            await self._news.wait()
        raise BenchFailed(f"the {self._name} ended too early")

    def account(self) -> str:
        """What it wrote last."""
        return "\n  ".join([f"the {self._name} last wrote:", *self._shown])

    async def end(self) -> None:
        """Ask it to end, and see to it that it does."""
        with trio.CancelScope(shield=True):
            self._process.terminate()
            with trio.move_on_after(END_WITHIN):
                await self._process.wait()
                return
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def open_child(
    name: str,
    module: str,
    *args: str,
    family: list[Child],
    source: Path | None = None,
    listens: bool = False,
) -> AsyncGenerator[Child]:
    """Run a Python module in a process of its own, for the time of the block. It joins `family`,
    for whoever has to say what went wrong. `source`: the directory that has its code, in place of
    ours. `listens`: it is told things on its standard input."""
    command = (sys.executable, "-P", "-m", module, *args)
    environment = None if source is None else {**os.environ, "PYTHONPATH": str(source)}
    async with open_program(name, command, family, environment, listens=listens) as child:
        yield child


@asynccontextmanager
async def open_program(
    name: str,
    command: Sequence[str],
    family: list[Child],
    environment: Mapping[str, str] | None = None,
    *,
    listens: bool = False,
) -> AsyncGenerator[Child]:
    """As `open_child`, any program."""
    process = await trio.lowlevel.open_process(
        command,
        stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    child = Child(name, process)
    family.append(child)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(child.read)
        try:
            yield child
        finally:
            await child.end()
            nursery.cancel_scope.cancel()
