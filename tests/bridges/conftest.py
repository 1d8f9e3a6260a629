"""A whole bridge in virtual time: a controller, the gateway and a worker, each a hub of its
own, on links in memory.

The controller plays the asking side of one protocol, the gateway faces it with that
protocol's other side and faces the worker with another protocol. Only the worker's own
doings are made by hand; every frame between the three is the real one.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.adaptation import AS_IT_IS, Adaptation, ToCommand
from fleetgate.core.answers import Accepted
from fleetgate.core.hub import Hub
from fleetgate.core.hub_testing import HandWorker, TrioClock, hub_on, worker_info
from fleetgate.core.ids import RunId, Seq, WorkerId
from fleetgate.core.journal.api import Journal
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import OPERATOR, Route
from fleetgate.core.run import Run
from fleetgate.core.templates import parse
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config import Config, GatewaySettings
from fleetgate.gateway.config_entries import Entry, side_of
from fleetgate.gateway.house import House
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.testing import SeenHouse

PROMPT_TO_ARGV = Adaptation(prompt=ToCommand(argv=(parse("sh"), parse("-c"), parse("{prompt}"))))


@attrs.define
class Member:
    """One of the three: a hub with its entries, on a journal that outlives it."""

    config: Config
    journal: Journal
    inputs: Mapping[str, frozenset[InputKind]] = attrs.field(factory=dict)
    seen: SeenHouse = attrs.field(factory=SeenHouse)
    _hub: Hub | None = None
    _house: House | None = None
    _scope: trio.CancelScope | None = None
    _down: trio.Event = attrs.field(factory=trio.Event)

    @property
    def hub(self) -> Hub:
        assert self._hub is not None
        return self._hub

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Be up until `stop`."""
        self._down = trio.Event()
        try:
            with trio.CancelScope() as self._scope:
                async with hub_on(self.journal) as self._hub, trio.open_nursery() as nursery:
                    self._house = House(
                        self._hub,
                        self.journal,
                        TrioClock(),
                        adapters(()),
                        self.seen,
                        nursery,
                        self.inputs,
                    )
                    assert await self._house.apply(self.config) == []
                    task_status.started()
                    await trio.sleep_forever()
        finally:
            self._down.set()

    async def stop(self) -> None:
        """Be gone, as a killed process is."""
        assert self._scope is not None
        self._scope.cancel()
        await self._down.wait()

    async def drain(self) -> None:
        """Stop as the first SIGTERM does it: refuse runs, tell every peer, end the links."""
        assert self._house is not None
        self.hub.drain()
        await self._house.drain()

    def cut(self, entry: str) -> None:
        """Cut the links of an entry without a word."""
        assert self._house is not None
        for keeper in self._house.keepers:
            if keeper.entry.name == entry:
                for driver in keeper.drivers:
                    driver.drop()

    def faults(self) -> list[BaseException]:
        return [
            f for entry in self.seen.entries.values() for link in entry.links for f in link.faults
        ]


@attrs.define
class Bridge:
    """The three, with a hand-made worker at the far end."""

    controller: Member
    gateway: Member
    host: Member
    nursery: trio.Nursery
    worker: HandWorker | None = None
    events: dict[RunId, list[e.Recorded]] = attrs.field(factory=dict)

    async def up(self) -> None:
        for member in (self.gateway, self.host, self.controller):
            await self.nursery.start(member.run)
        await self.join()

    async def join(self, free: int | None = None) -> HandWorker:
        """The hand-made worker comes (back) to the host."""
        info = worker_info(numbered_input=True, enforces_timeout=True)
        info = attrs.evolve(info, id=WorkerId("local/w"), pool="local")
        self.worker = HandWorker(self.host.hub, info)
        await self.worker.join(free)
        return self.worker

    async def start(self, name: str = "r1", prompt: str = "go", **spec: Any) -> RunId:
        run = RunId(name)
        asked = c.RunSpec(c.Prompt(prompt, provider="claude"), interactive=True, **spec)
        await self.controller.hub.submit(c.StartRun(run, asked, c.Origin(OPERATOR, name)))
        self.events[run] = []
        self.nursery.start_soon(self._follow, run)
        return run

    async def _follow(self, run: RunId) -> None:
        with self.controller.hub.follow(run, Seq(0)) as follower:
            async for batch in follower:
                self.events[run] += batch

    async def given(self, prompt: str = "go") -> RunId:
        """Wait until the worker was given the run that came from `prompt`; its id there."""
        found: list[RunId] = []

        def look() -> bool:
            assert self.worker is not None
            found[:] = [
                order.run
                for order in self.worker.port.orders
                if isinstance(order.command, c.StartRun) and _asks(order.command.spec.input, prompt)
            ]
            return bool(found)

        await until(look)
        assert len(found) == 1, "a run was given out more than once"
        return found[0]

    def say(self, run: RunId, *events: e.Event) -> None:
        assert self.worker is not None
        assert self.worker.record(run, *events)

    async def seen(self, run: RunId) -> Run:
        answer = await self.controller.hub.submit(c.DescribeRun(run))
        assert isinstance(answer, Accepted)
        assert answer.after is not None
        return answer.after

    async def ended(self, run: RunId) -> e.Outcome:
        """Wait for the run's end at the controller."""

        def over() -> bool:
            return any(isinstance(r.event, e.RunFinished) for r in self.events[run])

        await until(over)
        (outcome,) = (
            r.event.outcome for r in self.events[run] if isinstance(r.event, e.RunFinished)
        )
        return outcome

    def texts(self, run: RunId) -> str:
        return "".join(
            r.event.text for r in self.events[run] if isinstance(r.event, e.TextProduced)
        )

    def check(self, run: RunId) -> None:
        """One sequence, at the controller and as its peer numbered it."""
        seqs = [r.seq for r in self.events[run]]
        assert seqs == list(range(1, len(seqs) + 1))
        native = [r.source.seq for r in self.events[run] if r.source is not None and r.source.seq]
        assert native == sorted(set(native))
        assert list(dict.fromkeys(native)) == list(range(1, len(set(native)) + 1))
        for member in (self.controller, self.gateway, self.host):
            assert member.faults() == []


def _asks(given: c.Input, prompt: str) -> bool:
    """Whether it is the command that `PROMPT_TO_ARGV` makes, on its way through a shell tool
    too."""
    argv = ("sh", "-c", prompt)
    if not isinstance(given, c.ShellCommand):
        return False
    return given.argv == argv or (given.line or "").endswith(shlex.join(argv))


async def until(holds: Callable[[], bool], seconds: float = 600) -> None:
    """Wait, in virtual time, until something holds."""
    with trio.fail_after(seconds):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event, and time is virtual
            await trio.sleep(0.05)


def entry(facing: Any, name: str, protocol: str, address: str, listens: bool) -> Entry:
    settings = side_of(adapters(())[protocol], facing).settings()
    return Entry(facing, name, protocol, address, listens, settings)


LISTENING_NORTH = {"agency"}
"""Protocols whose worker side listens; the others' dial."""

NO_PROMPTS = {"kodelet", "rvbox"}
"""Protocols whose workers take no prompts: the controller adapts them already."""


def make_config(name: str, south: list[Entry], north: list[Entry], *routes: Route) -> Config:
    settings = GatewaySettings("memory:", name=name)
    return Config(f"{name}.toml", settings, tuple(south), tuple(north), routes)


@asynccontextmanager
async def bridge(north: str, south: str) -> AsyncIterator[Bridge]:
    """A bridge from `north` to `south`, up."""
    up = north in LISTENING_NORTH
    down = south in LISTENING_NORTH
    controller = make_config(
        "controller",
        [entry("south", "fleet", north, "memory:gui", not up)],
        [],
        Route(OPERATOR, "fleet", adapt=PROMPT_TO_ARGV if north in NO_PROMPTS else AS_IT_IS),
    )
    gateway = make_config(
        "gateway",
        [entry("south", "hosts", south, "memory:hosts", not down)],
        [entry("north", "gui", north, "memory:gui", up)],
        Route("gui", "hosts", adapt=PROMPT_TO_ARGV),
    )
    host = make_config(
        "host",
        [],
        [entry("north", "server", south, "memory:hosts", down)],
        Route("server", "local"),
    )
    async with AsyncExitStack() as stack:
        journals = [await stack.enter_async_context(open_memory_journal()) for _ in range(3)]
        nursery = await stack.enter_async_context(trio.open_nursery())
        made = Bridge(
            Member(controller, journals[0]),
            Member(gateway, journals[1]),
            Member(host, journals[2], {"local": frozenset(InputKind)}),
            nursery,
        )
        await made.up()
        yield made
        nursery.cancel_scope.cancel()


@pytest.fixture
async def agency_to_rvbox(autojump_clock: MockClock) -> AsyncIterator[Bridge]:
    async with bridge("agency", "rvbox") as made:
        yield made


@pytest.fixture(
    params=["kodelet-rvbox", "agency-kodelet", "rvbox-kodelet", "kodelet-kodelet"],
)
async def kodelet_bridge(
    request: pytest.FixtureRequest, autojump_clock: MockClock
) -> AsyncIterator[Bridge]:
    """A bridge with kodelet on one side, or on both."""
    north, _, south = request.param.partition("-")
    async with bridge(north, south) as made:
        yield made
