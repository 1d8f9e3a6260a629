"""The two sides that a fake can play behind its entry: who asks, and who works."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import attrs

from fleetgate.core.ids import WorkerId
from fleetgate.core.json import NOTHING
from fleetgate.core.worker import InputKind
from fleetgate.gateway.fakes.frontend import FrontEnd, emit_nothing
from fleetgate.gateway.fakes.lines import LineReader, LineWriter
from fleetgate.gateway.fakes.operations import CONTROLLER, WORKER
from fleetgate.gateway.fakes.played import Played, Tool
from fleetgate.gateway.fakes.running import Around, run_fake
from fleetgate.gateway.fakes.small import LOCAL, Small
from fleetgate.gateway.local.adapters import Adapters, open_adapters
from fleetgate.gateway.local.pool import LocalPool
from fleetgate.gateway.local.script import ECHO, Script
from fleetgate.gateway.local.script_play import Stage
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.observe import Counters, LinkObserver

ALL_INPUTS: Final = frozenset(InputKind)

MOST_RUNS: Final = 1024
"""Runs that are played at a time; more wait. None costs more than a few kilobytes, and few
tests have more than some ten."""


@attrs.frozen(slots=True)
class Playing:
    """How a fake's worker works: by a script, and by tools that stand before it. `execute`: it
    really executes commands, and plays nothing; with `pool` it does what that can. `state` is
    kept; None: nothing is. `hears`: the protocol carries input to a run."""

    script: Script = ECHO
    tools: Mapping[str, Tool] = NOTHING
    execute: bool = False
    state: str | None = None
    max_running: int = MOST_RUNS
    pool: LocalPool | None = None
    hears: bool = True

    @property
    def plays(self) -> bool:
        """Whether runs are played, and not really carried out."""
        return not self.execute and self.pool is None


def run_controller(around: Around, beyond: frozenset[type[Any]] = frozenset()) -> int:
    """Run a fake whose operations start runs; answers its exit code. `beyond` are operations that
    its protocol cannot carry."""

    async def serve(small: Small, writer: LineWriter) -> str:
        end = FrontEnd(
            small,
            LineReader(),
            writer,
            CONTROLLER,
            beyond=beyond,
            suffer=around.links.suffer,
        )
        return await end.serve()

    return run_fake(around, serve)


def run_worker(around: Around, playing: Playing) -> int:
    """Run a fake that carries out the runs which its controllers start; answers its exit code."""
    kept = None if playing.state is None else Path(playing.state).absolute()

    async def serve(small: Small, writer: LineWriter) -> str:
        stage = Stage(playing.script, _cutting(small), hears=playing.hears)
        seen = LinkObserver(around.log, Counters(), LOCAL, "this process")
        async with AsyncExitStack() as stack:
            state = kept or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            settings = LocalSettings(state, playing.max_running)
            adapters: Adapters | None = Played(stage, playing.tools)
            if playing.pool is not None:
                pool = open_adapters(playing.pool, state, stage, seen.fault)
                adapters = await stack.enter_async_context(pool)
            elif playing.execute:
                adapters = None
            id = WorkerId(f"{LOCAL}/fake")
            worker = LocalWorker(id, LOCAL, small.hub, settings, seen, adapters)
            await small.nursery.start(worker.serve)
            emit = stage.emit if playing.plays else emit_nothing
            suffer = around.links.suffer
            end = FrontEnd(small, LineReader(), writer, WORKER, emit, suffer=suffer)
            return await end.serve()

    return run_fake(around, serve)


def _cutting(small: Small) -> Callable[[], None]:
    def cut() -> None:
        for driver in small.drivers:
            driver.drop()

    return cut
