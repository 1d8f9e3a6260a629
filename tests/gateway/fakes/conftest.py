"""Fakes as child processes, and a worker that acts on a hub in virtual time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import POOL, hub_on
from fleetgate.core.ids import WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.gateway.fakes.played import Played
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.testing import SeenLink

FAKE = (sys.executable, "-P", "-m", "fleetgate", "fake")


class Fake:
    """A fake as a child process, spoken to as any language would."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [*FAKE, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tell(self, **op: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(op) + "\n")
        self.process.stdin.flush()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def until(self, **members: object) -> dict[str, Any]:
        """The next line that has these members."""
        while True:
            line = self.line()
            if members.items() <= line.items():
                return line

    def end(self) -> tuple[int, str]:
        """Close its input; its exit code and what it said about its end."""
        _, said = self.process.communicate(timeout=120)
        return self.process.returncode, said


@pytest.fixture
def fakes() -> Iterator[Callable[..., Fake]]:
    """Starts fakes, and ends those that are left."""
    made: list[Fake] = []

    def start(*words: str) -> Fake:
        made.append(Fake(*words))
        return made[-1]

    yield start
    for fake in made:
        fake.process.kill()
        fake.process.communicate()


@pytest.fixture
def adapters() -> Played:
    """What the worker of `stage` plays; a test module has its own."""
    raise AssertionError("say what is played")


@pytest.fixture
async def stage(
    adapters: Played, autojump_clock: MockClock, tmp_path: Path
) -> AsyncIterator[tuple[Hub, SeenLink]]:
    """A hub with a worker that plays, and what the worker reported."""
    seen = SeenLink()
    async with (
        open_memory_journal() as journal,
        hub_on(journal) as hub,
        trio.open_nursery() as nursery,
    ):
        settings = LocalSettings(tmp_path, 100)
        worker = LocalWorker(WorkerId(f"{POOL}/fake"), POOL, hub, settings, seen, adapters)
        await nursery.start(worker.serve)
        yield hub, seen
        nursery.cancel_scope.cancel()
