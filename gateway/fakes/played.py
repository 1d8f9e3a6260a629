"""What a fake's worker does with its runs: it plays a script, or a tool's part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from fleetgate.core.commands import Order, ResolveApproval, RunSpec, ToolCall
from fleetgate.core.events import Outcome
from fleetgate.core.ids import RunId
from fleetgate.core.json import NOTHING
from fleetgate.core.worker import InputKind
from fleetgate.gateway.local.script import Script, UsageTable
from fleetgate.gateway.local.script_play import Stage
from fleetgate.gateway.local.work import Job, Reporter, Task, Work

Answers: TypeAlias = Mapping[str, ResolveApproval]
"""How the approvals of a run were answered."""

Tool: TypeAlias = Callable[[Work, Answers], Awaitable[Outcome]]
"""Plays one call of a tool."""


class Part(Task):
    """A run that is played. It keeps how its approvals were answered."""

    def __init__(self, work: Work, job: Job, answers: dict[str, ResolveApproval]) -> None:
        super().__init__(work, job, "script", takes_input=True)
        self._answers = answers

    def give(self, order: Order) -> None:
        """Carry out an order, or refuse it."""
        if isinstance(order.command, ResolveApproval):
            self._answers[order.command.approval] = order.command
        super().give(order)


class Played:
    """The adapters of a fake's worker: calls of `tools` are played by them, all else by the
    stage's script."""

    def __init__(self, stage: Stage, tools: Mapping[str, Tool] = NOTHING) -> None:
        self._stage = stage
        self._tools = tools

    @property
    def inputs(self) -> frozenset[InputKind]:
        """Every kind."""
        return frozenset(InputKind)

    @property
    def usage(self) -> UsageTable | None:
        """As scripted."""
        return self._stage.script.usage

    def begin(self, run: RunId, spec: RunSpec, reporter: Reporter) -> Part:
        """A run to be played."""
        answers: dict[str, ResolveApproval] = {}
        tool = self._tools.get(spec.input.name) if isinstance(spec.input, ToolCall) else None

        async def play(work: Work) -> Outcome:
            if tool is None:
                return await self._stage.perform(work)
            work.started()
            return await tool(work, answers)

        session = spec.session or spec.resume or ""
        return Part(Work(run, spec, reporter, session), play, answers)

    def play(self, script: Script) -> None:
        """Play this from now on, in place of all that was played: script and tools."""
        self._tools = NOTHING
        self._stage.script = script

    def end_session(self, id: str) -> None:
        """A session is a name that runs share: a script remembers nothing from run to run."""
