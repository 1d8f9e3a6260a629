"""The adapters of a pool, ready to carry runs out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from fleetgate.core.commands import RunSpec, ShellCommand
from fleetgate.core.ids import RunId
from fleetgate.core.worker import InputKind
from fleetgate.gateway.local.execution import Execution, Ground
from fleetgate.gateway.local.work import Declined, Doing, Job, Reporter, Task, Work

if TYPE_CHECKING:
    from fleetgate.gateway.local.choosing import Choice
    from fleetgate.gateway.local.cli import CliAdapter
    from fleetgate.gateway.local.models import Models
    from fleetgate.gateway.local.pool import LocalPool
    from fleetgate.gateway.local.script import UsageTable
    from fleetgate.gateway.local.script_play import Stage

# What a pool has is imported where one is opened: the fakes' workers have none.


class Adapters(Protocol):
    """What a local worker can do, and how it begins."""

    @property
    def inputs(self) -> frozenset[InputKind]:
        """The kinds of input that are taken."""
        ...

    @property
    def usage(self) -> UsageTable | None:
        """What questions about the account's usage are answered with, if at all."""
        ...

    def begin(self, run: RunId, spec: RunSpec, reporter: Reporter) -> Doing:
        """A run to be carried out; a run that cannot be reports so as its end."""
        ...

    def end_session(self, id: str) -> None:
        """A session is over: nothing of it is kept, where anything was.

        Raises: `OSError`: not all of it can be forgotten for good.
        """
        ...


@attrs.frozen(slots=True)
class ShellOnly:
    """Executes commands, and nothing else."""

    ground: Ground
    inputs: frozenset[InputKind] = frozenset({InputKind.SHELL})
    usage: UsageTable | None = None

    def begin(self, run: RunId, spec: RunSpec, reporter: Reporter) -> Doing:
        """Execute the command."""
        return Execution(run, spec, self.ground, reporter)

    def end_session(self, id: str) -> None:
        """Commands have no sessions."""


class PoolAdapters:
    """The adapters that a `[[local]]` table names. Open with `open_adapters`."""

    def __init__(
        self, pool: LocalPool, ground: Ground, stage: Stage, cli: CliAdapter, models: Models
    ) -> None:
        self._pool = pool
        self._ground = ground
        self._stage = stage
        self._cli = cli
        self._models = models

    @property
    def inputs(self) -> frozenset[InputKind]:
        """The kinds of input that any adapter takes."""
        return self._pool.inputs

    @property
    def usage(self) -> UsageTable | None:
        """The mock's, where it has one."""
        return self._stage.script.usage if "mock" in self._pool.adapters else None

    def begin(self, run: RunId, spec: RunSpec, reporter: Reporter) -> Doing:
        """Choose the adapter and hand the run to it."""
        from fleetgate.gateway.local.choosing import choose

        try:
            choice = choose(spec, self._pool)
            return self._doing(choice, run, spec, reporter)
        except Declined as error:
            return Task(Work(run, spec, reporter), _declining(error), "none")

    def end_session(self, id: str) -> None:
        """Those of `cli` are kept, and end.

        Raises: `OSError`: not all of it can be forgotten for good.
        """
        self._cli.end_session(id)

    def _doing(self, choice: Choice, run: RunId, spec: RunSpec, reporter: Reporter) -> Doing:
        command = isinstance(spec.input, ShellCommand)
        if choice.adapter == "shell" or (choice.adapter == "cli" and command and not choice.target):
            ground = attrs.evolve(self._ground, directory=choice.directory)
            return Execution(run, spec, ground, reporter, choice.session)
        work = Work(run, spec, reporter, choice.session)
        if choice.adapter == "mock":
            return Task(work, self._stage.perform, "mock", takes_input=True)
        jobs = self._cli if choice.adapter == "cli" else self._models
        return Task(work, jobs.job(choice, spec), choice.adapter)


def _declining(error: Declined) -> Job:
    async def decline(work: Work) -> None:
        raise error

    return decline  # type: ignore[return-value]


@asynccontextmanager
async def open_adapters(
    pool: LocalPool, state: Path, stage: Stage, fault: Callable[[BaseException], None]
) -> AsyncGenerator[PoolAdapters, None]:
    """The pool's adapters; `fault` hears of faults of ours. Programs that are kept between runs end
    with the block.

    Raises: `OSError` where `state` cannot be used.
    """
    from fleetgate.gateway.local.cli import CliAdapter
    from fleetgate.gateway.local.known_sessions import KnownSessions
    from fleetgate.gateway.local.models import open_models
    from fleetgate.gateway.local.sessions import open_sessions

    ground = Ground(pool.directory, state / "scripts", pool.cancel_grace)
    known = KnownSessions(state / "sessions")
    most, idle = pool.max_sessions, pool.session_idle
    async with (
        open_models(pool.ollama, pool.vllm) as models,
        open_sessions(state / "processes", fault, most, idle) as sessions,
    ):
        cli = CliAdapter(pool.cli, sessions, known, ground.starting)
        yield PoolAdapters(pool, ground, stage, cli, models)
