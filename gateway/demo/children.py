"""The processes of a demo: each is started, read, and ended by its own pid."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import trio
from trio.abc import SendStream

END_WITHIN: Final = 5.0
"""Seconds that a child may take to end when asked."""

LOOK_EVERY: Final = 0.02
"""Seconds between looks at what a child has printed."""


class Child:
    """A process of ours: `python -m fleetgate …`. What it prints goes to a file, so that it
    may outlive whoever reads it."""

    def __init__(self, name: str, process: trio.Process, out: Path, feed: SendStream) -> None:
        self.name = name
        self.process = process
        self._out = out
        self._feed = feed

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        """The JSON objects that it prints, until it has ended."""
        rest = b""
        with self._out.open("rb") as file:
            while True:
                over = self.process.returncode is not None
                chunk = file.read()
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    yield json.loads(line)
                if over and not chunk:
                    return
                await trio.sleep(0 if chunk else LOOK_EVERY)

    async def tell(self, **op: object) -> None:
        """Give it an operation on its standard input."""
        await self._feed.send_all(json.dumps(op).encode() + b"\n")

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def end(self) -> None:
        """Ask it to end, and end it if it does not."""
        if self.process.returncode is None:
            self.process.terminate()
        with trio.move_on_after(END_WITHIN):
            await self.process.wait()
        if self.process.returncode is None:
            await self.kill()
        await self._feed.aclose()


class Cradle:
    """Starts children in the directory `root`, and ends them all behind the block; with
    `keep` only if the block fails."""

    def __init__(self, root: Path, *, keep: bool) -> None:
        self.root = root
        self.children: list[Child] = []
        self._keep = keep

    async def __aenter__(self) -> Cradle:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if self._keep and kind is None:
            return
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                for child in self.children:
                    nursery.start_soon(child.end)

    async def start(
        self, name: str, *words: str, environment: Mapping[str, str] | None = None
    ) -> Child:
        """Start `python -m fleetgate` with `words`. It prints to `NAME.out` and logs to
        `NAME.log`. A child that is kept reads a named pipe, `NAME.in`, that it holds open
        itself: closed input would tell it to end."""
        # -P: a directory of ours called `core` must not be importable from the working directory.
        command = [sys.executable, "-P", "-m", "fleetgate", *words]
        theirs, ours = self._pipe(name)
        out, log = self.root / f"{name}.out", self.root / f"{name}.log"
        try:
            with out.open("ab") as stdout, log.open("ab") as stderr:
                process = await trio.lowlevel.open_process(
                    command,
                    stdin=theirs,
                    stdout=stdout,
                    stderr=stderr,
                    env={**os.environ, **(environment or {})},
                    # Ctrl-C is for the demo: it ends its children in order.
                    start_new_session=True,
                )
        finally:
            os.close(theirs)
        child = Child(name, process, out, trio.lowlevel.FdStream(ours))
        self.children.append(child)
        return child

    def _pipe(self, name: str) -> tuple[int, int]:
        if not self._keep:
            return os.pipe()
        path = self.root / f"{name}.in"
        if not path.exists():
            os.mkfifo(path, 0o600)
        return os.open(path, os.O_RDWR), os.open(path, os.O_WRONLY)
