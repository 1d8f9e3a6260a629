"""A gateway in a process of its own, and how much memory it takes."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import attrs
import trio

from fleetgate.gateway.admin.client import AdminClient
from fleetgate.gateway.bench.process import peak_rss, rss

FULL = bool(os.environ.get("FLEETGATE_MEMORY"))
"""Whether everything is as large as docs/guarantees.md says, and not a tenth of it."""

MIB = 1 << 20

PATIENCE = 3600
"""Seconds after which a silent peer is dead: thousands of them are one process, which on a busy
machine has not answered all their pings within the 15 s that kodelet's default leaves it."""

BEAT = 60
"""Seconds, as both protocols are told that have heartbeats."""

NODES = 5_000 if FULL else 500

CONFIG = """\
[gateway]
name = "memory"
journal = "sqlite:{root}/journal.db"
admin = "unix:{root}/admin/socket"

[[north]]
name = "gui"
protocol = "agency"
listen = "unix:{root}/gui/socket"

[[south]]
name = "hosts"
protocol = "rvbox"
listen = "ws://127.0.0.1:0/agent"
dead_after = {patience}

[[south]]
name = "runners"
protocol = "kodelet"
listen = "ws://127.0.0.1:0/runner"
dead_after = {patience}
heartbeat_timeout = {patience}
heartbeat_interval = {beat}

[[south]]
name = "nodes"
protocol = "iop"
listen = "grpc://127.0.0.1:0"
tokens = [{tokens}]
dead_after = {patience}
heartbeat = {beat}

[[route]]
from = "gui"
to = "hosts"
adapt = {{ prompt = {{ argv = ["emit", "{{prompt}}"] }} }}
"""

GATEWAY = ("-P", "-m", "fleetgate", "serve", "--config")


@attrs.define
class Served:
    """A gateway at work. `addresses`: of its entries, by name."""

    root: Path
    process: trio.Process
    addresses: dict[str, str] = attrs.field(factory=dict[str, str])
    ready: trio.Event = attrs.field(factory=trio.Event)
    log_size: int = 0

    @property
    def rss(self) -> int:
        """Bytes of memory that it has now."""
        return rss(self.process.pid)

    @property
    def peak(self) -> int:
        """The most that it had since it started, or since `forget_peak`."""
        return peak_rss(self.process.pid)

    def forget_peak(self) -> None:
        """From here on, `peak` is counted anew."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def limit(self, what: int, value: int) -> None:
        """Set a limit of the kernel's for it."""
        resource.prlimit(self.process.pid, what, (value, resource.RLIM_INFINITY))

    async def status(self) -> dict[str, Any]:
        """What it says of itself."""
        client = AdminClient(f"unix:{self.root}/admin/socket")
        return dict(await client.get("/v1/status"))

    async def listen(self) -> None:
        """Take in what it says, until it ends."""
        assert self.process.stderr is not None
        buffer = b""
        async for data in self.process.stderr:
            self.log_size += len(data)
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                self._hear(json.loads(line))

    def _hear(self, said: dict[str, Any]) -> None:
        match said["event"]:
            case "entry_listening":
                self.addresses[said["entry"]] = said["address"]
            case "gateway_ready":
                self.ready.set()
            case _:
                pass


@asynccontextmanager
async def open_gateway(
    root: Path, command: tuple[str, ...] = GATEWAY, **environment: str
) -> AsyncGenerator[Served]:
    """Run one for the time of the block."""
    tokens = ", ".join(f'{{ token = {{ env = "T{n}" }}, id = "node-{n}" }}' for n in range(NODES))
    config = root / "gateway.toml"
    text = CONFIG.format(root=root, tokens=tokens, patience=PATIENCE, beat=BEAT)
    config.write_text(text)
    process = await trio.lowlevel.open_process(
        [sys.executable, *command, str(config)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment, **{f"T{n}": f"token-{n}" for n in range(NODES)}},
    )
    served = Served(root, process)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(served.listen)
        try:
            with trio.fail_after(120):
                await served.ready.wait()
            yield served
            assert process.poll() is None, "the gateway has ended"
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_shortly_named() -> AsyncGenerator[Served]:
    """Run one in a directory of its own, with a name that leaves room for a socket's."""
    with tempfile.TemporaryDirectory(prefix="memory-") as directory:
        async with open_gateway(Path(directory)) as served:
            yield served


@contextmanager
def open_files() -> Generator[None]:
    """Let this process, and those that it starts, have as many files as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that another process does, and tells nobody."""
    while not true():  # noqa: ASYNC110
        await trio.sleep(0.05)


def journal_size(root: Path) -> int:
    """Bytes of the journal on its disk."""
    return sum(path.stat().st_size for path in root.glob("journal.db*"))


def kept(used: int) -> int:
    """Bytes of memory that a process holds which has so many in use at most: a third more. Frames,
    events and rows of one body differ by some bytes, so the hole that one leaves is too small for
    the next; a third of 64 KiB blocks, or of any that last so long, were measured as such holes.
    What of them is free does not grow with the run."""
    return used * 4 // 3


def say(text: str) -> None:
    """What was measured, for whoever watches (`-s`)."""
    sys.stdout.write(f"{text}\n")
