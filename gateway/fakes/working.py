"""The side that carries out runs, behind the entry of a fake."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from fleetgate.core.ids import WorkerId
from fleetgate.core.json import NOTHING
from fleetgate.core.worker import InputKind
from fleetgate.gateway.fakes.lines import Writer
from fleetgate.gateway.fakes.named import Owns, itself, played_run
from fleetgate.gateway.fakes.operations import WORKER
from fleetgate.gateway.fakes.performing import Performer
from fleetgate.gateway.fakes.played import Played, Tool
from fleetgate.gateway.fakes.running import Around, Peer
from fleetgate.gateway.fakes.small import LOCAL, Small
from fleetgate.gateway.local.adapters import Adapters, open_adapters
from fleetgate.gateway.local.script import ECHO, Script
from fleetgate.gateway.local.script_play import Stage
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.observe import Counters, LinkObserver

if TYPE_CHECKING:
    from fleetgate.gateway.local.pool import LocalPool
    from fleetgate.gateway.local.script_steps import Step

ALL_INPUTS: Final = frozenset(InputKind)

MOST_RUNS: Final = 1024
"""Runs that are played at a time; more wait. None costs more than a few kilobytes, and few
tests have more than some ten."""


@attrs.frozen(slots=True)
class Playing:
    """How a fake's worker works: by a script, and by tools that stand before it. `execute`: it
    really executes commands, and plays nothing; with `pool` it does what that can. `state` is
    kept; None: nothing is. `hears`: the protocol carries input to a run; `owns` says of which
    of its own runs one here is."""

    script: Script = ECHO
    tools: Mapping[str, Tool] = NOTHING
    execute: bool = False
    state: str | None = None
    max_running: int = MOST_RUNS
    pool: LocalPool | None = None
    hears: bool = True
    owns: Owns = itself

    @property
    def plays(self) -> bool:
        """Whether runs are played, and not really carried out."""
        return not self.execute and self.pool is None


def worker(around: Around, playing: Playing) -> Peer:
    """A fake that carries out the runs which its controllers start."""
    kept = None if playing.state is None else Path(playing.state).absolute()

    @asynccontextmanager
    async def open(small: Small, writer: Writer) -> AsyncGenerator[Performer, None]:
        stage = Stage(playing.script, _cutting(small), hears=playing.hears)
        seen = LinkObserver(around.log, Counters(), LOCAL, "this process")
        suffer = around.links.suffer
        async with AsyncExitStack() as stack:
            state = kept or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            settings = LocalSettings(state, playing.max_running)
            played = Played(stage, playing.tools)
            adapters: Adapters | None = played
            if playing.pool is not None:
                pool = open_adapters(playing.pool, state, stage, seen.fault)
                adapters = await stack.enter_async_context(pool)
            elif playing.execute:
                adapters = None
            id = WorkerId(f"{LOCAL}/fake")
            worker = LocalWorker(id, LOCAL, small.hub, settings, seen, adapters)
            await small.nursery.start(worker.serve)
            if playing.plays:
                emit = _emitting(stage, playing.owns)
                yield Performer(small, writer, emit, suffer=suffer, play=played.play)
            else:
                yield Performer(small, writer, suffer=suffer)

    return Peer(around, WORKER, open)


def _emitting(stage: Stage, owns: Owns) -> Callable[[str, Sequence[Step]], None]:
    def emit(run: str, steps: Sequence[Step]) -> None:
        stage.emit(played_run(run, stage.runs, owns), steps)

    return emit


def _cutting(small: Small) -> Callable[[], None]:
    def cut() -> None:
        for driver in small.drivers:
            driver.drop()

    return cut
