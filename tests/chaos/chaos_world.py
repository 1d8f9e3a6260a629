"""One trial in virtual time: a bridge, tasks of the oracle, strikes of the plan, and the evidence
of what came of them. The same pair and seed are the same trial, frame by frame."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any
from unittest import mock
from uuid import UUID

import attrs
import trio
from chaos_allowance import Allowance, takes_input
from chaos_asking import insist
from chaos_judge import Evidence, Tally, judge, tally_of
from chaos_life import SLOWEST, Disk, Life, Wires, open_mortal
from chaos_oracle import Task, asked, derive, ids
from chaos_plan import SPAN, TWISTED, Strike, named, plan
from chaos_views import doubted, id_in, read_all, seen
from chaos_worker import HEAR_WITHIN, PlayingPort
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.hub_testing import HandWorker, TrioClock, worker_info
from fleetgate.core.ids import RunId, Seq, WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.times import SECOND
from fleetgate.core.worker import InputKind
from fleetgate.gateway.fidelity.bridge import GUI, HOSTS, LOCAL, Bridge, configs_of
from fleetgate.gateway.fidelity.member import Member, staying

EPOCH = 1_900_000_000 * SECOND
"""What every wall clock shows as a trial begins."""

PATIENCE = 1800.0
"""Seconds behind the last strike within which every run has ended."""

PHASE_WITHIN = 6.0
"""Seconds that a kill waits for its phase; then it strikes as it is."""


@attrs.frozen
class Trial:
    """A pair and a seed, what was planned, and what came of it."""

    pair: str
    seed: str
    twisted: bool
    strikes: list[Strike]
    evidence: list[Evidence]
    tally: Tally
    problems: list[str]

    @property
    def again(self) -> str:
        """The command that plays it again."""
        twisted = " --twisted" if self.twisted else ""
        return f"just chaos-seeds --pair {self.pair} --seed {self.seed}{twisted}"

    def report(self) -> str:
        """What was wrong, and how to see it again."""
        return "\n".join([*self.problems, f"struck: {named(self.strikes)}", self.again])


def try_seed(pair: str, seed: str, *, twisted: bool = False) -> Trial:
    """Play a trial and judge it."""
    draw = random.Random(f"{pair} {seed} {twisted}")
    clock = MockClock(autojump_threshold=0)
    with determined(draw):
        return trio.run(_play, pair, seed, twisted, clock, draw, clock=clock)


@contextmanager
def determined(draw: random.Random) -> Iterator[None]:
    """All that is chance elsewhere comes from the seed: the order in which tasks go on, jitter,
    ids, wall clocks."""
    run = trio._core._run
    chance = random.Random(draw.random())
    order = random.Random(draw.random())
    with (
        mock.patch.object(run, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
        mock.patch.object(run, "_r", order),
        mock.patch("random.random", chance.random),
        mock.patch("uuid.uuid4", partial(_uuid, chance)),
        mock.patch("secrets.token_bytes", chance.randbytes),
        mock.patch("time.time_ns", return_value=EPOCH),
    ):
        yield


def _uuid(chance: random.Random) -> UUID:
    return UUID(int=chance.getrandbits(128), version=4)


async def _play(
    pair: str, seed: str, twisted: bool, clock: MockClock, draw: random.Random
) -> Trial:
    strikes = plan(draw, twisted)
    async with open_world(pair, seed, draw, clock, twisted) as world:
        stuck = await world.play(strikes)
        allowance = Allowance(pair, strikes, world.struck, world.cut_off)
        evidence = await world.evidence(allowance)
        tally = tally_of(evidence)
        tally.kills, tally.faults = world.kills, world.faults
        tally.suppressed = sum(count - 1 for count in world.wires.told["south"].values())
        problems = [*(stuck if allowance.ends else []), *judge(evidence), *world.faulty()]
        problems += world.for_nobody() if allowance.whole else []
    return Trial(pair, seed, twisted, strikes, evidence, tally, problems)


class Skewed(TrioClock):
    """A wall clock that is wrong."""

    def __init__(self, skew: float) -> None:
        super().__init__()
        self._base += int(skew * SECOND)


@attrs.define
class World:
    """A trial under way. `struck` are strikes by the time at which they did, with their end;
    `cut_off` the tasks that a worker was at as the gateway was killed."""

    bridge: Bridge
    wires: Wires
    disk: Disk
    port: PlayingPort
    draw: random.Random
    clock: MockClock
    tasks: list[Task]
    cut_off: set[str] = attrs.field(factory=set[str])
    struck: list[tuple[float, float, Strike]] = attrs.field(factory=list)
    kills: Counter[str] = attrs.field(factory=Counter)
    faults: Counter[str] = attrs.field(factory=Counter)
    skew: float = 0.0
    began: dict[str, float] = attrs.field(factory=dict)
    ended: dict[str, float] = attrs.field(factory=dict)
    over_there: dict[RunId, float] = attrs.field(factory=lambda: defaultdict(float))
    sent: dict[str, list[bytes]] = attrs.field(factory=lambda: defaultdict(list))
    doubted: dict[str, frozenset[bytes]] = attrs.field(factory=lambda: defaultdict(frozenset))
    at_gateway: dict[RunId, list[e.Recorded]] = attrs.field(factory=lambda: defaultdict(list))
    late: dict[str, list[e.Recorded]] = attrs.field(factory=lambda: defaultdict(list))
    watching: trio.CancelScope = attrs.field(factory=trio.CancelScope)

    async def play(self, strikes: list[Strike]) -> list[str]:
        """Play it to the end of every run; answers what did not come to one."""
        honest = not any(strike.kind in TWISTED for strike in strikes)
        async with trio.open_nursery() as nursery:
            self.nursery = nursery
            for task in self.tasks:
                nursery.start_soon(self._produce, task)
            nursery.start_soon(self._watch_gateway)
            for strike in strikes:
                await trio.sleep_until(self.wires_began + strike.at)
                await self._strike(strike)
            for entry in (GUI, HOSTS):
                self.wires.suffer(entry)
            with trio.move_on_after(PATIENCE if honest else PATIENCE / 10):
                while len(self.ended) < len(self.tasks):  # noqa: ASYNC110 - as `until`
                    await trio.sleep(0.5)
            await trio.sleep(60)  # whatever comes behind an end would have come
            self.watching.cancel()
            nursery.cancel_scope.cancel()
        stuck = [task.id for task in self.tasks if task.id not in self.ended]
        return [f"{id}: not over {PATIENCE:.0f} s behind the last strike" for id in stuck]

    takes_input: bool = True
    wires_began: float = 0.0
    nursery: Any = None

    # --- the producer, and the watchers

    async def _produce(self, task: Task) -> None:
        at = random.Random(f"when {task.id}")
        await trio.sleep(at.uniform(0, SPAN * 0.8))
        self.began[task.id] = trio.current_time()
        run = RunId(task.id)
        await insist(partial(self.bridge.start, task.id, asked(task.id)))
        self.nursery.start_soon(self._watch_late, run, at.uniform(1, 20))
        self.nursery.start_soon(self._note_end, run)
        submit = self.bridge.controller.hub.submit
        if self.takes_input:
            for data in task.inputs:
                await trio.sleep(at.random() * 3)
                command = c.SendInput(run, data, newline=True)
                if await insist(partial(submit, command, data.decode())):
                    self.sent[task.id].append(data)
        if task.cancel is not None:
            await trio.sleep(task.cancel)
            await insist(partial(submit, c.CancelRun(run), "cancel"))

    async def _note_end(self, run: RunId) -> None:
        while not self.bridge.of_kind(run, e.RunFinished):  # noqa: ASYNC110 - as `until`
            await trio.sleep(0.1)
        self.ended[run] = trio.current_time()

    async def _watch_late(self, run: RunId, behind: float) -> None:
        """Another watcher, who comes late, and goes and comes back with its cursor."""
        had = self.late[run]
        while True:
            await trio.sleep(behind)
            after = had[-1].seq if had else 0
            with trio.move_on_after(1.0), self.bridge.controller.hub.follow(run, Seq(after)) as f:
                async for batch in f:
                    had += batch

    async def _watch_gateway(self) -> None:
        """Watch every run at the gateway, over all its lives, with one cursor each."""
        while True:
            life = self.wires.life
            with trio.CancelScope() as self.watching:
                async with trio.open_nursery() as nursery:
                    known: set[RunId] = set()
                    while not life.dead:
                        durable = set(self.disk.runs) - known
                        await trio.sleep(SLOWEST)  # what is durable is accepted soon behind it
                        for id in sorted(durable):
                            nursery.start_soon(self._follow_gateway, id, life)
                        known |= durable
                    nursery.cancel_scope.cancel()
            while self.wires.life.dead:  # noqa: ASYNC110 - as `until`
                await trio.sleep(0.05)

    async def _follow_gateway(self, run: RunId, life: Life) -> None:
        had = self.at_gateway[run]
        with self.bridge.gateway.hub.follow(run, Seq(len(had))) as follower:
            async for batch in follower:
                if life.dead:
                    return
                had += batch
                self.over_there[run] = trio.current_time()

    # --- what strikes

    async def _strike(self, strike: Strike) -> None:
        began = trio.current_time()
        match strike.kind:
            case "kill":
                await self._kill(strike)
            case "cut":
                await self.wires.cut(strike.entry)
            case "jump":
                self.clock.jump(strike.skew)
            case _:
                self.wires.suffer(strike.entry, strike.faults)
                await trio.sleep(strike.lasts)
                self.wires.suffer(strike.entry)
                await self.wires.cut(strike.entry)
        self.faults[strike.kind] += 1
        self.struck.append((began, trio.current_time(), strike))

    async def _kill(self, strike: Strike) -> None:
        life = self.wires.life
        with trio.move_on_after(PHASE_WITHIN):
            while not life.phase.startswith(strike.phase):  # noqa: ASYNC110 - as `until`
                await trio.sleep(0.002)
        self.kills[life.phase.removesuffix(" it is durable")] += 1
        life.die()
        self.cut_off |= {task.id for task, _ in self.port.playing.values()}
        for entry in (GUI, HOSTS):
            await self.wires.cut(entry)
        await self.bridge.gateway.stop()
        await trio.sleep(strike.lasts)
        self.skew = strike.skew
        self.wires.life = Life()
        await self.bridge.nursery.start(self.bridge.gateway.run)

    # --- what came of it

    async def evidence(self, allowance: Allowance) -> list[Evidence]:
        """Of every run, at the controller and at the gateway."""
        found: list[Evidence] = []
        for task in self.tasks:
            again = await read_all(self.bridge.controller, RunId(task.id))
            self._doubt(task, again)
            views = {
                "controller": seen(self.bridge.events[RunId(task.id)]),
                "late": seen(self.late[task.id] + again[len(self.late[task.id]) :]),
                "afterwards": seen(again),
            }
            span = (self.began[task.id], self.ended.get(task.id, trio.current_time()))
            ends = allowance.at_controller(task, span, self.port.executed[task.id])
            found.append(self._evidence(task, task.id, views, ends, allowance, span))
        for run in sorted(self.disk.runs):
            again = await read_all(self.bridge.gateway, run)
            views = {"while it was": seen(self.at_gateway[run]), "afterwards": seen(again)}
            described = await self.bridge.gateway.hub.submit(c.DescribeRun(run))
            id = id_in(described.after.spec)  # type: ignore[union-attr]
            if id is None:
                assert not allowance.whole  # a link has cut what was asked for
                continue
            task = derive(id)
            self._doubt(task, again)
            # A controller may have lost it long before the gateway did.
            over = max(self.over_there[run], self.ended.get(task.id, trio.current_time()))
            span = (self.began[task.id], over)
            ends = allowance.at_gateway(task, span, self.port.executed[task.id])
            found.append(
                self._evidence(task, f"{run} at the gateway", views, ends, allowance, span)
            )
        return found

    def _evidence(
        self,
        task: Task,
        name: str,
        views: Any,
        ends: frozenset[str],
        allowance: Allowance,
        span: tuple[float, float],
    ) -> Evidence:
        return Evidence(
            name,
            allowance.ends,
            task.wanted if allowance.whole else None,
            views,
            ends,
            self.port.executed[task.id] if allowance.whole else 1,
            self.sent[task.id] if allowance.whole else (),
            self.port.got[task.id] if allowance.whole else (),
            allowance.uncertain_input(span),
            self.doubted[task.id],
        )

    def _doubt(self, task: Task, recorded: list[e.Recorded]) -> None:
        self.doubted[task.id] |= doubted(recorded, self.sent[task.id])

    def for_nobody(self) -> list[str]:
        """Tasks that a worker began after their controller had been told that they are canceled.
        Nothing of that shows in their ends: the worker goes on to its own."""
        return [
            f"{id}: its worker began it at {at:.2f}, and it was canceled by {self.ended[id]:.2f}"
            for id, at in self.port.began.items()
            if at > self.ended.get(id, at) and self._canceled(RunId(id))
        ]

    def _canceled(self, run: RunId) -> bool:
        ends = self.bridge.of_kind(run, e.RunFinished)
        return any(end.outcome.state is e.RunState.CANCELED for end in ends)

    def faulty(self) -> list[str]:
        """What our own code raised."""
        members = {
            "controller": self.bridge.controller,
            "gateway": self.bridge.gateway,
            "host": self.bridge.host,
        }
        return [
            f"a fault at the {name}: {fault!r}"
            for name, member in members.items()
            for fault in member.faults()
        ]


@asynccontextmanager
async def open_world(
    pair: str, seed: str, draw: random.Random, clock: MockClock, twisted: bool
) -> AsyncGenerator[World]:
    """A bridge with a worker that plays, and tasks to come."""
    north, _, south = pair.partition("-")
    controller, gateway, host = configs_of(north, south)
    source = ids(f"{pair} {seed}")
    tasks = [derive(next(source)) for _ in range(draw.randint(3, 7))]
    wires, disk = Wires(f"{pair} {seed}", Life()), Disk()
    async with (
        open_memory_journal() as one,
        open_memory_journal() as two,
        trio.open_nursery() as nursery,
    ):
        middle = Member(gateway, open_mortal(disk, lambda: wires.life, draw), wrap=wires.wrap)
        far = Member(host, staying(two), {LOCAL: frozenset(InputKind)})
        bridge = Bridge(Member(controller, staying(one)), middle, far, nursery)
        for member in (middle, far, bridge.controller):
            await nursery.start(member.run)
        hears = HEAR_WITHIN if takes_input(pair) else 0.0
        port = PlayingPort(nursery=nursery, hears=lambda id: hears, twisted=twisted)
        world = World(bridge, wires, disk, port, draw, clock, tasks)
        middle.clock = lambda: Skewed(world.skew)
        info = worker_info(numbered_input=True, enforces_timeout=True)
        info = attrs.evolve(info, id=WorkerId(f"{LOCAL}/w"), pool=LOCAL)
        await port.join(HandWorker(far.hub, info))
        world.takes_input = takes_input(pair)
        world.wires_began = trio.current_time()
        yield world
        nursery.cancel_scope.cancel()
