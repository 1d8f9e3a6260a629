"""Our own peers as targets in this process, for tests of the kits in virtual time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from fleetgate.core import commands as c
from fleetgate.core.errors import Refusal
from fleetgate.core.events import Decision
from fleetgate.core.ids import RunId, WorkerId
from fleetgate.core.json import NOTHING
from fleetgate.core.routing import OPERATOR
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config_entries import Entry
from fleetgate.gateway.fakes.played import Played, Tool
from fleetgate.gateway.fakes.small import LOCAL, Small, open_small
from fleetgate.gateway.local.script import Script
from fleetgate.gateway.local.script_play import Stage
from fleetgate.gateway.local.worker import LocalSettings, LocalWorker
from fleetgate.gateway.tck.attempt import Target
from fleetgate.gateway.tck.peer import Skipped
from fleetgate.gateway.tck.requirement import Topic
from fleetgate.gateway.tck.runner import Result, Runner, Verdict
from fleetgate.gateway.tck.testing import Bad, Bend, Bent, Mutants
from fleetgate.gateway.testing import SeenHouse, SeenLink
from fleetgate.protocols.api import Connection

Make = Callable[[], AbstractAsyncContextManager[Small]]


class InProcess:
    """Starts a small gateway in this process, as `--start` does a program. It ends when its
    controller stops it, as the fake does."""

    def __init__(self, nursery: trio.Nursery, make: Make) -> None:
        self._nursery = nursery
        self._make = make
        self._scope: trio.CancelScope | None = None
        self._over = trio.Event()

    async def ensure(self) -> bool:
        """Have it running."""
        if self._scope is not None:
            return False
        await self._nursery.start(self._live)
        return True

    async def _live(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._over = trio.Event()
        with trio.CancelScope() as self._scope:
            async with self._make() as small:
                task_status.started()
                (keeper,) = small.house.keepers
                await small.hub.wait_stopped(keeper.entry.name)
                await small.house.wait_gone(keeper.entry.name)
        self._scope = None
        self._over.set()

    @property
    def exit_code(self) -> int | None:
        """It has none."""
        return None

    async def stop(self) -> None:
        """Have it end."""
        if self._scope is not None:
            self._scope.cancel()
            await self._over.wait()


@asynccontextmanager
async def open_worker(
    entry: Entry,
    script: Script,
    state: Path,
    tools: Mapping[str, Tool] = NOTHING,
    connect: Callable[[Any], Connection] | None = None,
    most: int = 100,
) -> AsyncGenerator[Small, None]:
    """A fake whose worker plays a script, and tools, at its entry's address: `most` at once."""
    inputs = frozenset(InputKind)
    async with open_small(entry, "tck", "memory:", SeenHouse(), inputs, connect=connect) as small:
        id, settings = WorkerId(f"{LOCAL}/fake"), LocalSettings(state, most)
        played = Played(Stage(script), tools)
        worker = LocalWorker(id, LOCAL, small.hub, settings, SeenLink(), played)
        await small.nursery.start(worker.serve)
        yield small


@asynccontextmanager
async def open_controller(
    entry: Entry,
    seen: SeenHouse | None = None,
    connect: Callable[[Any], Connection] | None = None,
) -> AsyncGenerator[Small, None]:
    """A fake that asks for runs, at its entry's address."""
    house = seen or SeenHouse()
    async with open_small(entry, "tck", "memory:", house, connect=connect) as small:
        yield small


class Asked:
    """A controller in this process that does what the kit wants."""

    def __init__(self, small: Small, spec: Callable[[Mapping[str, str]], c.RunSpec]) -> None:
        """`spec`: what a run is to be, from the details of the want."""
        self._small = small
        self._spec = spec

    async def ask(self, what: str, details: Mapping[str, str]) -> bool:
        """Do it."""
        try:
            await self._small.hub.submit(self._command(what, details))
        except Refusal as refusal:
            raise Skipped(f"{what} was refused: {refusal.message}") from None
        return True

    def _command(self, what: str, details: Mapping[str, str]) -> c.Command:
        run = RunId(details.get("run") or details["name"])
        match what:
            case "run":
                return c.StartRun(run, self._spec(details), c.Origin(OPERATOR, run))
            case "send":
                return c.SendInput(run, details["text"].encode())
            case "close":
                return c.CloseInput(run)
            case "approve":
                return c.ResolveApproval(run, details["approval"], Decision.ALLOW_ONCE)
            case "signal":
                return c.SignalRun(run, c.Signal(details["signal"]))
            case _:
                return c.CancelRun(run)


async def try_all(runner: Runner) -> dict[str, Result]:
    """The results of all of a kit's requirements, by id."""
    return {each.id: await runner.attempt(each) for each in runner.kit.requirements}


def unmet(results: dict[str, Result]) -> dict[str, str]:
    """Which are not met, and why."""
    return {id: r.reason for id, r in results.items() if r.verdict is not Verdict.PASS}


async def check_fails(runner: Runner, id: str, bend: Bend) -> None:
    """At a bent target, the requirement must fail."""
    (requirement,) = (each for each in runner.kit.requirements if each.id == id)
    runner.target = Bent(runner.target, bend)
    result = await runner.attempt(requirement)
    lines = "\n".join(frame.line() for frame in result.frames)
    said = f"{id} is {result.verdict.value}: {result.reason}\n{lines}"
    if result.verdict is not Verdict.FAIL:
        raise AssertionError(said)


async def check_nobody_passes(runner: Runner, answers: Sequence[bytes]) -> None:
    """Peers that say nothing, hang up, or say the same to everything must meet nothing."""
    async with trio.open_nursery() as nursery:
        bad = [Bad(nursery), Bad(nursery, hangs_up=True)]
        for target in (*bad, *(Bad(nursery, answer) for answer in answers)):
            runner.target = target
            passed = {id for id, r in (await try_all(runner)).items() if r.verdict is Verdict.PASS}
            if passed:
                raise AssertionError(f"{target} met {passed}")
        nursery.cancel_scope.cancel()


class Unasked:
    """A target that is right, which whoever runs the kit can only have asked for `able`."""

    def __init__(self, target: Target, *able: str) -> None:
        self._target = target
        self._able = able
        self.address = target.address
        self.link, self.stream, self.refuse = target.link, target.stream, target.refuse

    async def want(self, what: str, **details: str) -> bool:
        """As the target has it, or not at all."""
        return what in self._able and await self._target.want(what, **details)


async def check_nobody_asks(runner: Runner, *able: str) -> set[str]:
    """At a target that is right, and asked for `able` only, nothing must fail; what is skipped."""
    whole = runner.target
    runner.target = Unasked(whole, *able)
    results = await try_all(runner)
    runner.target = whole
    failed = {id: r.reason for id, r in results.items() if r.verdict is Verdict.FAIL}
    if failed:
        raise AssertionError(f"these failed, and nobody had asked: {failed}")
    return {id for id, r in results.items() if r.verdict is Verdict.SKIP}


def check_mutants(topic: Topic, mutants: Mutants) -> None:
    """Each requirement of a topic must have somebody who breaks it."""
    wanted, there = {each.id for each in topic}, {id for id, _ in mutants}
    if wanted != there:
        raise AssertionError(f"nobody breaks {wanted - there}; {there - wanted} are not there")
