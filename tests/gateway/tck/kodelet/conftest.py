"""Our own runner and control plane as targets, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import trio

from fleetgate.core.errors import Refusal
from fleetgate.gateway.config_entries import Entry, Grant
from fleetgate.gateway.fakes import kodelet_operations as ops
from fleetgate.gateway.fakes.kodelet_by_hand import ByHand
from fleetgate.gateway.fakes.kodelet_plane import Plane
from fleetgate.gateway.fakes.kodelet_runner import BLOCKED, COMMANDS, KEPT_OUTPUT, takes
from fleetgate.gateway.fakes.lines import LineWriter
from fleetgate.gateway.fakes.options import GivenToken, settings_of
from fleetgate.gateway.fakes.small import Small
from fleetgate.gateway.fakes.tools import OFFERED, TOOLS
from fleetgate.gateway.local.script import Script
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.tck.kits import kit_of
from fleetgate.gateway.tck.kodelet.talk import PATH
from fleetgate.gateway.tck.peer import Skipped
from fleetgate.gateway.tck.proving import InProcess, open_controller, open_worker
from fleetgate.gateway.tck.runner import Runner
from fleetgate.gateway.tck.target import Wants, open_target
from fleetgate.gateway.testing import SeenHouse
from fleetgate.protocols.kodelet.northbound import RunnerConnection

TOKEN = "tck-token"
RUNNER_SETTINGS: dict[str, Any] = {
    "workspace": "/srv/project",
    "tools": [{"name": name, "description": text} for name, text in OFFERED.items()],
    "commands": list(COMMANDS),
    "output_limit": KEPT_OUTPUT,
    "update_every": 0,
    "blocked_messages": [BLOCKED],
}


@pytest.fixture
async def runner(folder: Path) -> AsyncIterator[Runner]:
    """The kit for runners, at ours."""
    async with at_our_runner("memory:runner", folder) as examined:
        yield examined


@pytest.fixture
async def web_runner(folder: Path) -> AsyncIterator[Runner]:
    """The kit for runners, at ours, over a real WebSocket and so in real time."""
    async with at_our_runner(f"ws://127.0.0.1:0{PATH}", folder) as examined:
        yield examined


At: TypeAlias = Callable[..., AbstractAsyncContextManager[Runner]]
"""A kit at a peer of ours whose settings have these members."""


@pytest.fixture
def at_web_runner(folder: Path) -> At:
    """The kit for runners, at ours, over a real WebSocket."""
    return partial(at_our_runner, f"ws://127.0.0.1:0{PATH}", folder)


@asynccontextmanager
async def at_our_runner(address: str, folder: Path, **members: Any) -> AsyncGenerator[Runner, None]:
    kit = kit_of("kodelet", "runner")
    named = {**RUNNER_SETTINGS, **members}
    settings = settings_of(adapters(())["kodelet"].northbound.settings, (), **named)
    token, connect = GivenToken(value=TOKEN), partial(RunnerConnection, takes=takes)
    given = kit.given(token=TOKEN)
    async with open_target(kit, address, kit.options(given), Wants({})) as target:
        there = target.address
        entry = Entry("north", "server", "kodelet", there, False, settings, token=token)
        async with trio.open_nursery() as nursery:
            make = partial(open_worker, entry, Script(), folder, TOOLS, connect)
            own = InProcess(nursery, make)
            await own.ensure()
            yield Runner(kit, target, given, started=own)
            nursery.cancel_scope.cancel()


class Unwritten(LineWriter):
    """For updates of tools, which nobody reads here."""

    async def write(self, *lines: Any) -> None:
        await trio.lowlevel.checkpoint()


class Worked:
    """A control plane in this process, worked by hand as the kit wants it."""

    def __init__(self, plane: Plane, small: Small, nursery: trio.Nursery) -> None:
        self._own = ByHand(plane, small, Unwritten()).own
        self._nursery = nursery

    async def ask(self, what: str, details: Mapping[str, str]) -> bool:
        operation = operation_of(what, details)
        call = f"{details['run']}:{details.get('call', what)}"
        id = f"{call}:{what}" if what == "abort" else call
        try:
            answer = self._own[type(operation)](id, operation)
        except Refusal as refusal:
            raise Skipped(f"{what} was refused: {refusal.message}") from None
        self._nursery.start_soon(answer)
        return True


def operation_of(what: str, details: Mapping[str, str]) -> Any:
    run = details["run"]
    match what:
        case "open":
            return ops.Open(details["runner"], run, details["conv"], caps=ops.Caps(True))
        case "tool":
            return ops.Tool(run, details["call"], details["tool"], updates=True)
        case "abort":
            return ops.Abort(f"{run}:{details['call']}")
        case "cancel":
            return ops.Cancel(run)
        case _:
            return ops.Close(run)


@pytest.fixture
async def plane() -> AsyncIterator[Runner]:
    """The kit for control planes, at ours."""
    kit, address = kit_of("kodelet", "control-plane"), "memory:plane"
    settings = adapters(())["kodelet"].southbound.settings()
    tokens = (Grant(GivenToken(value=TOKEN), "runner"),)
    entry = Entry("south", "runners", "kodelet", address, True, settings, tokens=tokens)
    given, hand = kit.given(token=TOKEN), Plane()
    async with trio.open_nursery() as nursery:
        async with open_controller(entry, connect=hand.connect) as small:
            wants = Worked(hand, small, nursery)
            async with open_target(kit, address, kit.options(given), wants) as target:
                yield Runner(kit, target, given)
        nursery.cancel_scope.cancel()


@pytest.fixture
def at_web_plane() -> At:
    """The kit for control planes, at ours, over a real WebSocket."""
    return at_our_web_plane


@asynccontextmanager
async def at_our_web_plane(**members: Any) -> AsyncGenerator[Runner, None]:
    kit, seen = kit_of("kodelet", "control-plane"), SeenHouse()
    settings = adapters(())["kodelet"].southbound.settings(**members)
    tokens = (Grant(GivenToken(value=TOKEN), "runner"),)
    url = f"ws://127.0.0.1:0{PATH}"
    entry = Entry("south", "runners", "kodelet", url, True, settings, tokens=tokens)
    given = kit.given(token=TOKEN)
    async with open_controller(entry, seen):
        address = str(seen.entries["runners"].named("listening")[0])
        async with open_target(kit, address, kit.options(given), Wants({})) as target:
            yield Runner(kit, target, given)
