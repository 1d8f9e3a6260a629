"""Keeping one local pool of the config going: one worker, which lives as long as its table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Protocol

import trio

from fleetgate.core.hub import Hub
from fleetgate.core.ids import WorkerId
from fleetgate.gateway.groups import unwrapped
from fleetgate.gateway.local.adapters import open_adapters
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.local.script import ECHO, load_script
from fleetgate.gateway.local.script_play import Stage
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.speaking import Observer
from fleetgate.transports.unix import make_private

WORKER: Final = "here"
"""What the one worker of a pool is called within it."""


class PoolObserver(Protocol):
    """Where a pool says what the operator should see."""

    def up(self, peer: str) -> Observer:
        """Its worker is about to take runs."""
        ...

    def down(self, peer: str, reason: str) -> None:
        """Its worker has ended."""
        ...


class LocalKeeper:
    """One local pool at work. `run` keeps it going; `drain` may be called meanwhile."""

    def __init__(self, pool: LocalPool, state: Path, hub: Hub, observer: PoolObserver) -> None:
        self.entry = pool
        self._state = state
        self._hub = hub
        self._observer = observer
        self._worker: LocalWorker | None = None

    async def run(self, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED) -> None:
        """Carry runs out until cancelled; those at work then are lost, their processes killed.

        Raises: `ConfigError`, `OSError`, `Refusal` before it has reported.
        """
        try:
            await self._run(task_status)
        except BaseExceptionGroup as group:  # of the nurseries within
            raise unwrapped(group) from None

    async def _run(self, task_status: trio.TaskStatus[str]) -> None:
        pool = self.entry
        script = load_script(pool.script) if pool.script else ECHO
        make_private(self._state)  # beside a journal in memory the admin socket lies above it
        observer = self._observer.up(pool.address)
        reason = "cancelled"
        try:
            settings = LocalSettings(
                self._state, pool.max_running, pool.directory or os.getcwd(), pool.cancel_grace
            )
            id = WorkerId(f"{pool.name}/{WORKER}")
            async with open_adapters(pool, self._state, Stage(script), observer.fault) as adapters:
                self._worker = LocalWorker(id, pool.name, self._hub, settings, observer, adapters)
                await self._worker.serve(task_status)
            reason = "another worker of this name has taken over"
        finally:
            self._observer.down(pool.address, reason)

    async def drain(self) -> None:
        """Take no more runs, and wait for the end of those at work: nothing of them outlives
        the gateway. Cancelled, they go on."""
        if self._worker is not None:
            await self._worker.drain()
