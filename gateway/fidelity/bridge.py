"""A whole bridge in one process: a controller, the gateway and a worker, each a hub of its
own, on links in memory.

The controller plays the asking side of one protocol. The gateway faces it with that
protocol's other side, and faces the worker with another protocol. Only the worker's own
doings are made by hand; every frame between the three is the real one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import attrs
import trio

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.adaptation import AS_IT_IS, Adaptation, ToCommand, ToPrompt
from fleetgate.core.answers import Accepted
from fleetgate.core.hub_testing import HandWorker, worker_info
from fleetgate.core.ids import RunId, Seq, WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.routing import OPERATOR, Route
from fleetgate.core.run import Run
from fleetgate.core.templates import parse
from fleetgate.core.worker import InputKind
from fleetgate.gateway.config import Config
from fleetgate.gateway.config_entries import Entry, Facing, Grant, Secret, side_of
from fleetgate.gateway.fidelity.member import Member, Open, staying
from fleetgate.gateway.local.script import text_of
from fleetgate.gateway.registry import adapters
from fleetgate.gateway.settings import GatewaySettings

LISTENING_WORKERS: Final = frozenset({"agency"})
"""Protocols whose worker side listens; the others' dial."""

FLEET: Final = "fleet"
GUI: Final = "gui"
HOSTS: Final = "hosts"
SERVER: Final = "server"
LOCAL: Final = "local"
TOOL: Final = "probe"
LOOK_EVERY: Final = 0.05


def adaptation_for(inputs: frozenset[InputKind]) -> Adaptation:
    """How workers that take `inputs` are given what they do not take."""
    if inputs == frozenset(InputKind):
        return AS_IT_IS
    if InputKind.PROMPT in inputs:
        return Adaptation(shell=ToPrompt(parse("{line}")), tool=ToPrompt(parse("{name} {input}")))
    argv = tuple(map(parse, ("sh", "-c", "{prompt}")))
    if InputKind.TOOL in inputs:
        return Adaptation(prompt=ToCommand(argv))
    call = tuple(map(parse, ("run-tool", "{name}", "{input}")))
    return Adaptation(prompt=ToCommand(argv), tool=ToCommand(call))


@attrs.frozen(slots=True)
class Spoken(Secret):
    """A secret that is no secret."""

    text: str = "a-token"

    def read(self) -> str:
        """The text."""
        return self.text


TOKEN: Final = Spoken()
NODE: Final = "node-1"
"""Who shows it."""


def make_entry(facing: Facing, name: str, protocol: str, address: str, *, listens: bool) -> Entry:
    """An entry with a protocol's defaults, except that whoever can answers approvals by input,
    and whoever has tools has one more, that does nothing by itself. Where tokens are shown in
    messages, there is one."""
    side = side_of(adapters(())[protocol], facing)
    kind = side.settings
    members, own = attrs.fields_dict(kind), dict[str, Any]()
    if "answer_approvals" in members:
        own["answer_approvals"] = True
    if "tools" in members:
        tools = kind().tools
        own["tools"] = (*tools, type(tools[0])(TOOL))
    made = Entry(facing, name, protocol, address, listens, kind(**own))
    if not side.carriage(made.settings).in_band:
        return made
    grants = (Grant(TOKEN, NODE),) if listens else ()
    return attrs.evolve(made, token=None if listens else TOKEN, tokens=grants)


def _config(name: str, south: Sequence[Entry], north: Sequence[Entry], from_: str) -> Config:
    routes: tuple[Route, ...] = (Route(from_, LOCAL),)
    if south:
        taken = adapters(())[south[0].protocol].southbound.inputs
        routes = (Route(from_, south[0].name, adapt=adaptation_for(taken)),)
    settings = GatewaySettings("memory:", name=name)
    return Config(f"{name}.toml", settings, tuple(south), tuple(north), routes)


def configs_of(
    north: str, south: str, at: tuple[str, str] | None = None
) -> tuple[Config, Config, Config]:
    """The configs of controller, gateway and host. `at` are the addresses of the upper and the
    lower link: in memory, where none are given."""
    upper, lower = at or (f"memory:{north}-{south}-up", f"memory:{north}-{south}-down")
    up, down = north in LISTENING_WORKERS, south in LISTENING_WORKERS
    fleet = make_entry("south", FLEET, north, upper, listens=not up)
    gui = make_entry("north", GUI, north, upper, listens=up)
    hosts = make_entry("south", HOSTS, south, lower, listens=not down)
    server = make_entry("north", SERVER, south, lower, listens=down)
    return (
        _config("controller", (fleet,), (), OPERATOR),
        _config("gateway", (hosts,), (gui,), GUI),
        _config("host", (), (server,), SERVER),
    )


def direct_configs_of(protocol: str) -> tuple[Config, Config]:
    """The configs of a controller and a host without a gateway between them."""
    address, listens = f"memory:{protocol}-direct", protocol in LISTENING_WORKERS
    fleet = make_entry("south", FLEET, protocol, address, listens=not listens)
    server = make_entry("north", SERVER, protocol, address, listens=listens)
    return _config("controller", (fleet,), (), OPERATOR), _config("host", (), (server,), SERVER)


@attrs.define
class Bridge:
    """The three, with a hand-made worker at the far end."""

    controller: Member
    gateway: Member
    host: Member
    nursery: trio.Nursery
    worker: HandWorker | None = None
    events: dict[RunId, list[e.Recorded]] = attrs.field(factory=dict[RunId, list[e.Recorded]])

    async def up(self) -> None:
        """Start all three, with the worker."""
        for member in (self.gateway, self.host, self.controller):
            await self.nursery.start(member.run)
        await self.join()

    async def join(self, free: int | None = None) -> HandWorker:
        """The hand-made worker comes (back) to the host."""
        info = worker_info(numbered_input=True, enforces_timeout=True)
        info = attrs.evolve(info, id=WorkerId(f"{LOCAL}/w"), pool=LOCAL)
        self.worker = HandWorker(self.host.hub, info)
        await self.worker.join(free)
        return self.worker

    async def start(self, name: str = "r1", prompt: str = "go", **spec: Any) -> RunId:
        """Start a run from a prompt at the controller, and follow it."""
        given: dict[str, Any] = {"interactive": True, **spec}
        return await self.ask(name, c.RunSpec(c.Prompt(prompt, provider="claude"), **given))

    async def ask(self, name: str, spec: c.RunSpec) -> RunId:
        """Start a run at the controller, and follow it."""
        run = RunId(name)
        await self.controller.hub.submit(c.StartRun(run, spec, c.Origin(OPERATOR, name)))
        self.events[run] = []
        self.nursery.start_soon(self._follow, run)
        return run

    async def _follow(self, run: RunId) -> None:
        with self.controller.hub.follow(run, Seq(0)) as follower:
            async for batch in follower:
                self.events[run] += batch

    def starts(self, prompt: str) -> list[c.Order]:
        """The orders by which the worker was given runs whose input has `prompt` in it."""
        assert self.worker is not None
        return [
            order
            for order in self.worker.port.orders
            if isinstance(order.command, c.StartRun)
            and prompt in text_of(order.command.spec.input).split()
        ]

    async def given(self, prompt: str = "go") -> RunId:
        """Wait until the worker was given the run that came from `prompt`; its id there."""
        await until(lambda: bool(self.starts(prompt)))
        found = self.starts(prompt)
        assert len(found) == 1, "a run was given out more than once"
        return found[0].run

    def ordered(self, run: RunId, *kinds: type[Any]) -> list[Any]:
        """The commands of these kinds that the worker was given for a run."""
        assert self.worker is not None
        return [
            order.command
            for order in self.worker.port.orders
            if order.run == run and isinstance(order.command, kinds)
        ]

    def say(self, run: RunId, *events: e.Event) -> None:
        """The worker reports events."""
        assert self.worker is not None
        assert self.worker.record(run, *events)

    def settle(self, run: RunId) -> None:
        """The worker has carried out every order of a run but its start."""
        assert self.worker is not None
        for order in self.worker.port.orders:
            if order.run == run and order.number and not order.input:
                self.worker.settle(run, order.number)

    async def seen(self, run: RunId) -> Run:
        """A run as the controller has it."""
        answer = await self.controller.hub.submit(c.DescribeRun(run))
        assert isinstance(answer, Accepted)
        assert answer.after is not None
        return answer.after

    def of_kind(self, run: RunId, *kinds: type[Any]) -> list[Any]:
        """The run's events of these kinds, as the controller has them."""
        return [each.event for each in self.events[run] if isinstance(each.event, kinds)]

    async def ended(self, run: RunId) -> e.Outcome:
        """Wait for the run's end at the controller."""
        await until(lambda: bool(self.of_kind(run, e.RunFinished)))
        (end,) = self.of_kind(run, e.RunFinished)
        outcome: e.Outcome = end.outcome
        return outcome

    def texts(self, run: RunId) -> str:
        """What the agent said, as the controller has it."""
        return "".join(event.text for event in self.of_kind(run, e.TextProduced))

    def check(self, run: RunId) -> None:
        """One sequence, at the controller and as its peer numbered it."""
        seqs = [r.seq for r in self.events[run]]
        assert seqs == list(range(1, len(seqs) + 1))
        native = [r.source.seq for r in self.events[run] if r.source is not None and r.source.seq]
        assert native == sorted(native)
        # What comes before a run's start may have no number of its own at a peer.
        first = native[0] if native else 1
        unsaid = set(range(first, max(native, default=0) + 1)) - set(native)
        # A session that is named once more is no news, and takes a number all the same.
        assert len(unsaid) <= len(self.of_kind(run, e.SessionOpened)), sorted(unsaid)
        for member in (self.controller, self.gateway, self.host):
            assert member.faults() == []


async def until(holds: Callable[[], bool], seconds: float = 600) -> None:
    """Wait, at most so long, until something holds."""
    with trio.fail_after(seconds):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event of its own
            await trio.sleep(LOOK_EVERY)


@asynccontextmanager
async def open_bridge(
    north: str, south: str, gateway_journal: Open | None = None
) -> AsyncGenerator[Bridge, None]:
    """A bridge from `north` to `south`, up. Without a journal for the gateway it is in memory."""
    controller, gateway, host = configs_of(north, south)
    async with AsyncExitStack() as stack:
        kept = [staying(await stack.enter_async_context(open_memory_journal())) for _ in range(3)]
        nursery = await stack.enter_async_context(trio.open_nursery())
        made = Bridge(
            Member(controller, kept[0]),
            Member(gateway, gateway_journal or kept[1]),
            Member(host, kept[2], {LOCAL: frozenset(InputKind)}),
            nursery,
        )
        await made.up()
        yield made
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_direct(protocol: str) -> AsyncGenerator[Bridge, None]:
    """A controller and a worker of one protocol, and no gateway: what the protocol itself can
    carry."""
    controller, host = direct_configs_of(protocol)
    async with AsyncExitStack() as stack:
        kept = [staying(await stack.enter_async_context(open_memory_journal())) for _ in range(2)]
        nursery = await stack.enter_async_context(trio.open_nursery())
        far = Member(host, kept[1], {LOCAL: frozenset(InputKind)})
        near = Member(controller, kept[0])
        made = Bridge(near, far, far, nursery)
        for member in (far, near):
            await nursery.start(member.run)
        await made.join()
        yield made
        nursery.cancel_scope.cancel()
