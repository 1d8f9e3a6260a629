"""One trial in virtual time: a bridge, tasks of the oracle, strikes of the plan, and the evidence
of what came of them. The same pair and seed are the same trial, frame by frame."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any
from unittest import mock
from uuid import UUID

import attrs
import trio
from chaos_allowance import Allowance, takes_input
from chaos_judge import Evidence, Seen, Tally, judge, tally_of
from chaos_life import MARK, SLOWEST, Disk, Life, Wires, open_mortal
from chaos_oracle import Task, asked, derive, ids
from chaos_plan import SPAN, TWISTED, Strike, named, plan
from chaos_worker import PlayingPort
from trio.testing import MockClock

from fleetgate.core import commands as c
from fleetgate.core import events as e
from fleetgate.core.errors import RunEnded, Unavailable
from fleetgate.core.events import Stream
from fleetgate.core.hub_testing import HandWorker, TrioClock, worker_info
from fleetgate.core.ids import RunId, Seq, WorkerId
from fleetgate.core.journal.memory import open_memory_journal
from fleetgate.core.times import SECOND
from fleetgate.core.worker import InputKind
from fleetgate.gateway.fidelity.bridge import GUI, HOSTS, LOCAL, Bridge, configs_of
from fleetgate.gateway.fidelity.member import Member, staying
from fleetgate.gateway.local.script import text_of

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
    async with open_world(pair, seed, draw, clock) as world:
        stuck = await world.play(strikes)
        allowance = Allowance(pair, strikes, world.struck)
        evidence = await world.evidence(allowance)
        tally = tally_of(evidence)
        tally.kills, tally.faults = world.kills, world.faults
        tally.suppressed = sum(count - 1 for count in world.wires.told["south"].values())
        problems = [*(stuck if allowance.ends else []), *judge(evidence), *world.faulty()]
    return Trial(pair, seed, twisted, strikes, evidence, tally, problems)


class Skewed(TrioClock):
    """A wall clock that is wrong."""

    def __init__(self, skew: float) -> None:
        super().__init__()
        self._base += int(skew * SECOND)


@attrs.define
class World:
    """A trial under way. `struck` are strikes by the time at which they did, with their end;
    `cut_off` the tasks that were at work when something struck that ends runs of a protocol
    that cannot take them up."""

    bridge: Bridge
    wires: Wires
    disk: Disk
    port: PlayingPort
    draw: random.Random
    clock: MockClock
    tasks: list[Task]
    struck: list[tuple[float, float, Strike]] = attrs.field(factory=list)
    kills: Counter[str] = attrs.field(factory=Counter)
    faults: Counter[str] = attrs.field(factory=Counter)
    skew: float = 0.0
    began: dict[str, float] = attrs.field(factory=dict)
    ended: dict[str, float] = attrs.field(factory=dict)
    sent: dict[str, list[bytes]] = attrs.field(factory=lambda: defaultdict(list))
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
        await self._insist(partial(self.bridge.start, task.id, asked(task.id)))
        self.nursery.start_soon(self._watch_late, run, at.uniform(1, 20))
        self.nursery.start_soon(self._note_end, run)
        submit = self.bridge.controller.hub.submit
        if self.takes_input:
            for data in task.inputs:
                await trio.sleep(at.random() * 3)
                command = c.SendInput(run, data, newline=True)
                if await self._insist(partial(submit, command, data.decode())):
                    self.sent[task.id].append(data)
        if task.cancel is not None:
            await trio.sleep(task.cancel)
            await self._insist(partial(submit, c.CancelRun(run), "cancel"))

    async def _insist(self, ask: Callable[[], Awaitable[object]]) -> bool:
        """Ask until it is answered, again in the same words where it is not known what became of
        it. Whether it was accepted."""
        while True:
            try:
                await ask()
                return True
            except Unavailable:
                await trio.sleep(1)
            except RunEnded:
                return False

    async def _note_end(self, run: RunId) -> None:
        while not self.bridge.of_kind(run, e.RunFinished):  # noqa: ASYNC110 - as `until`
            await trio.sleep(0.1)
        self.ended[run] = trio.current_time()

    async def _watch_late(self, run: RunId, behind: float) -> None:
        """Another watcher, who comes late, and goes and comes back with its cursor."""
        seen = self.late[run]
        while True:
            await trio.sleep(behind)
            after = seen[-1].seq if seen else 0
            with trio.move_on_after(1.0), self.bridge.controller.hub.follow(run, Seq(after)) as f:
                async for batch in f:
                    seen += batch

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
        seen = self.at_gateway[run]
        with self.bridge.gateway.hub.follow(run, Seq(len(seen))) as follower:
            async for batch in follower:
                if life.dead:
                    return
                seen += batch

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
            again = await self._all(self.bridge.controller, RunId(task.id))
            views = {
                "controller": _seen(self.bridge.events[RunId(task.id)]),
                "late": _seen(self.late[task.id] + again[len(self.late[task.id]) :]),
                "afterwards": _seen(again),
            }
            span = (self.began[task.id], self.ended.get(task.id, trio.current_time()))
            ends = allowance.at_controller(task, span, self.port.executed[task.id])
            found.append(self._evidence(task, task.id, views, ends, allowance, span))
        for run in sorted(self.disk.runs):
            views = {
                "while it was": _seen(self.at_gateway[run]),
                "afterwards": _seen(await self._all(self.bridge.gateway, run)),
            }
            described = await self.bridge.gateway.hub.submit(c.DescribeRun(run))
            found_id = _id_in(described.after.spec)  # type: ignore[union-attr]
            task = derive(found_id)
            span = (self.began[task.id], self.ended.get(task.id, trio.current_time()))
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
        )

    async def _all(self, member: Member, run: RunId) -> list[e.Recorded]:
        found: list[e.Recorded] = []
        with trio.move_on_after(1.0), member.hub.follow(run, Seq(0)) as follower:
            async for batch in follower:
                found += batch
        return found

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


def _id_in(spec: c.RunSpec) -> str:
    found = MARK.search(text_of(spec.input).encode())
    assert found is not None
    return found[1].decode()


def _seen(recorded: list[e.Recorded]) -> list[Seen]:
    return [_one(each) for each in recorded]


def _one(each: e.Recorded) -> Seen:
    kind, event = type(each.event).__name__, each.event
    match event:
        case e.TextProduced(text=text):
            return Seen(each.seq, kind, text.encode())
        case e.OutputProduced(Stream.STDOUT, data):
            return Seen(each.seq, kind, data)
        case e.RunFinished(outcome=outcome):
            state, reason = outcome.state.value, outcome.reason.value
            return Seen(each.seq, kind, b"", state, reason)
        case _:
            return Seen(each.seq, kind)


@asynccontextmanager
async def open_world(
    pair: str, seed: str, draw: random.Random, clock: MockClock
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
        port = PlayingPort(nursery=nursery, hears=takes_input(pair))
        world = World(bridge, wires, disk, port, draw, clock, tasks)
        middle.clock = lambda: Skewed(world.skew)
        info = worker_info(numbered_input=True, enforces_timeout=True)
        info = attrs.evolve(info, id=WorkerId(f"{LOCAL}/w"), pool=LOCAL)
        port.worker = HandWorker(far.hub, info)
        port.worker.port = port
        await port.worker.join(None)
        world.takes_input = takes_input(pair)
        world.wires_began = trio.current_time()
        yield world
        nursery.cancel_scope.cancel()
